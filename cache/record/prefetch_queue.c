/* SPDX-License-Identifier: Apache-2.0 */
/* What was told, in the order in which it will be needed: a ring of wants, one for each frame
 * and time it was told (gets of one frame told one after another are one). So a frame that is
 * needed soon and once more much later has two, and only the first of them has it read and kept.
 * All of it under room.lock. A turn is a place in the line, counted from its begin. */
#include "cache/record/record_int.h"

static struct cw_want *at(const struct cw_line *line, uint64_t turn)
{
    return &line->wants[turn % CW_LINE_WANTS];
}

bool cw_line_push(struct cw_line *line, struct cw_cache_chunk *chunk, uint32_t frame,
                  int64_t now_ns)
{
    struct cw_turns *told = &chunk->told[frame];

    if (!line->wants) {
        line->wants = CW_NEW_ARRAY(struct cw_want, CW_LINE_WANTS);
        line->head = line->tail = 1;
    }
    if (told->first && told->last == line->tail - 1) {
        at(line, told->last)->n++;
        return true;
    }
    if (line->tail - line->head == CW_LINE_WANTS)
        return false;
    *at(line, line->tail) =
        (struct cw_want){.chunk = chunk, .frame = frame, .n = 1, .since_ns = now_ns};
    if (told->first)
        at(line, told->last)->later = line->tail;
    else
        told->first = line->tail;
    told->last = line->tail++;
    atomic_fetch_add_explicit(&line->n, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&chunk->told_n, 1, memory_order_relaxed);
    return true;
}

struct cw_want *cw_line_head(const struct cw_line *line)
{
    return line->head < line->tail ? at(line, line->head) : NULL;
}

/* The first of its frame's; the head is always one that is there. */
static void take_out(struct cw_line *line, struct cw_want *want)
{
    struct cw_cache_chunk *chunk = want->chunk;

    chunk->told[want->frame].first = want->later;
    want->chunk = NULL;
    atomic_fetch_sub_explicit(&line->n, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&chunk->told_n, 1, memory_order_relaxed);
    while (line->head < line->tail && !at(line, line->head)->chunk)
        line->head++;
}

uint32_t cw_line_take(struct cw_line *line, struct cw_cache_chunk *chunk, uint32_t frame)
{
    uint64_t turn = chunk->told[frame].first;

    if (!turn)
        return 0;
    uint32_t n = at(line, turn)->n;
    take_out(line, at(line, turn));
    return n;
}

void cw_line_got(struct cw_line *line, struct cw_cache_chunk *chunk, uint32_t frame)
{
    uint64_t turn = chunk->told[frame].first;

    if (turn && --at(line, turn)->n == 0)
        take_out(line, at(line, turn));
}

uint32_t cw_line_run(const struct cw_cache_chunk *chunk, uint32_t frame)
{
    const struct cw_chunk_frame *frames = chunk->index->frames;
    uint64_t turn = chunk->told[frame].first;
    uint32_t n = 1;

    for (; turn && n < CW_SPAN_FRAMES && frame + n < chunk->index->frames_n; n++) {
        const struct cw_chunk_frame *f = &frames[frame + n];

        if (chunk->told[frame + n].first != ++turn || chunk->stored[frame + n] ||
            (chunk->plain && chunk->plain[frame + n]) ||
            f->offset + f->stored - frames[frame].offset > CW_SPAN_BYTES)
            break;
    }
    return n;
}

uint64_t cw_line_turn(const struct cw_span *span)
{
    const struct cw_cache_chunk *chunk = span->chunk;
    uint64_t first = CW_LINE_NEVER;

    if (atomic_load_explicit(&chunk->told_n, memory_order_relaxed) == 0)
        return first;
    for (uint32_t i = 0; i < span->n; i++) {
        uint64_t turn = chunk->told[span->first + i].first;

        if (turn)
            first = CW_MIN(first, turn);
    }
    return first;
}

void cw_line_drop(struct cw_line *line, struct cw_cache_chunk *chunk)
{
    for (uint32_t i = 0; atomic_load_explicit(&chunk->told_n, memory_order_relaxed) > 0; i++)
        while (cw_line_take(line, chunk, i))
            ;
}

void cw_line_fini(struct cw_line *line)
{
    cw_mem_free(line->wants);
}
