/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of announced gets. All functions are called with the memory budget's lock held. */
#include "cache/record/record_state.h"

static struct cw_prefetch_entry *at(const struct cw_prefetch_queue *queue, uint64_t turn)
{
    return &queue->entries[turn % CW_PREFETCH_QUEUE_CAP];
}

bool cw_prefetch_queue_push(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame, int64_t now_ns)
{
    struct cw_queued_frame *queued = &chunk->queued[frame];

    if (!queue->entries) {
        queue->entries = CW_NEW_ARRAY(struct cw_prefetch_entry, CW_PREFETCH_QUEUE_CAP);
        queue->head = queue->tail = 1;
    }
    if (queued->first && queued->last == queue->tail - 1) {
        at(queue, queued->last)->n++;
        return true;
    }
    if (queue->tail - queue->head == CW_PREFETCH_QUEUE_CAP)
        return false;
    *at(queue, queue->tail) =
        (struct cw_prefetch_entry){.chunk = chunk, .frame = frame, .n = 1, .since_ns = now_ns};
    if (queued->first)
        at(queue, queued->last)->later = queue->tail;
    else
        queued->first = queue->tail;
    queued->last = queue->tail++;
    atomic_fetch_add_explicit(&queue->n, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&chunk->queued_n, 1, memory_order_relaxed);
    return true;
}

struct cw_prefetch_entry *cw_prefetch_queue_head(const struct cw_prefetch_queue *queue)
{
    return queue->head < queue->tail ? at(queue, queue->head) : NULL;
}

/* Takes the first entry of its frame out of the queue. The entry at the head is always one that was
 * not taken out. */
static void take_out(struct cw_prefetch_queue *queue, struct cw_prefetch_entry *want)
{
    struct cw_cache_chunk *chunk = want->chunk;

    chunk->queued[want->frame].first = want->later;
    want->chunk = NULL;
    atomic_fetch_sub_explicit(&queue->n, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&chunk->queued_n, 1, memory_order_relaxed);
    while (queue->head < queue->tail && !at(queue, queue->head)->chunk)
        queue->head++;
}

uint32_t cw_prefetch_queue_take(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                                uint32_t frame)
{
    uint64_t turn = chunk->queued[frame].first;

    if (!turn)
        return 0;
    uint32_t n = at(queue, turn)->n;
    take_out(queue, at(queue, turn));
    return n;
}

void cw_prefetch_queue_skip(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk,
                            uint32_t frame)
{
    uint64_t turn = chunk->queued[frame].first;

    if (turn && --at(queue, turn)->n == 0)
        take_out(queue, at(queue, turn));
}

uint32_t cw_prefetch_queue_run(const struct cw_cache_chunk *chunk, uint32_t frame)
{
    const struct cw_chunk_frame *frames = chunk->index->frames;
    uint64_t turn = chunk->queued[frame].first;
    uint32_t n = 1;

    for (; turn && n < CW_SPAN_FRAMES && frame + n < chunk->index->frames_n; n++) {
        const struct cw_chunk_frame *f = &frames[frame + n];

        if (chunk->queued[frame + n].first != ++turn || chunk->stored[frame + n] ||
            (chunk->plain && chunk->plain[frame + n]) ||
            f->offset + f->stored - frames[frame].offset > CW_SPAN_BYTES)
            break;
    }
    return n;
}

uint64_t cw_prefetch_queue_position(const struct cw_span *span)
{
    const struct cw_cache_chunk *chunk = span->chunk;
    uint64_t first = CW_PREFETCH_NEVER;

    if (atomic_load_explicit(&chunk->queued_n, memory_order_relaxed) == 0)
        return first;
    for (uint32_t i = 0; i < span->n; i++) {
        uint64_t turn = chunk->queued[span->first + i].first;

        if (turn)
            first = CW_MIN(first, turn);
    }
    return first;
}

void cw_prefetch_queue_drop(struct cw_prefetch_queue *queue, struct cw_cache_chunk *chunk)
{
    for (uint32_t i = 0; atomic_load_explicit(&chunk->queued_n, memory_order_relaxed) > 0; i++)
        while (cw_prefetch_queue_take(queue, chunk, i))
            ;
}

void cw_prefetch_queue_fini(struct cw_prefetch_queue *queue)
{
    cw_mem_free(queue->entries);
}
