/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in memory. A chunk has two tables with a pointer to a span for each frame. One is for
 * frames as they are stored in the file, used where the store does not map (neighbours that were
 * read together share a span). The other is for packed frames after they were unpacked. A table
 * holds one reference to each of its spans; threads that use the span, and a read under way, hold
 * others. A span that only its table refers to may be evicted (frame_lru.c). */
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "cache/record/buffer_pool.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_cache.h"
#include "cache/record/frame_fetch.h"
#include "cache/record/frame_lru.h"
#include "cache/record/pin_set.h"
#include "cache/record/requests.h"

static struct cw_cache *cache_of(const struct cw_cache_chunk *chunk)
{
    return chunk->dataset->cache;
}

/* ---- frames as they are stored ---- */

static bool wait_for(struct cw_span *span, int64_t *wait_ns)
{
    struct cw_cache_chunk *chunk = span->chunk;

    cw_mutex_lock(&chunk->lock);
    if (span->state == CW_SPAN_COMING) {
        int64_t begin = cw_clock_ns(), deadline = begin + cache_of(chunk)->timeout_ms * 1000000;

        while (span->state == CW_SPAN_COMING &&
               cw_cond_wait_until(&chunk->arrived, &chunk->lock, deadline))
            ;
        *wait_ns += cw_clock_ns() - begin;
    }
    bool ready = span->state == CW_SPAN_READY;
    cw_mutex_unlock(&chunk->lock);
    return ready;
}

/* Returns a reference to a span that contains the frame. If the frame is not in memory, its read is
 * begun. */
static struct cw_span *stored_span(struct cw_cache_chunk *chunk, uint32_t frame, bool *ret_ready)
{
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->stored[frame];
    *ret_ready = span && span->state == CW_SPAN_READY;
    if (*ret_ready)
        atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    cw_mutex_unlock(&chunk->lock);
    if (*ret_ready)
        return span;
    if (!span && cw_store_is_unavailable(cache_of(chunk)->store, NULL))
        return NULL;
    return cw_frame_fetch_now(chunk, frame);
}

/* Verifies the checksum of a frame in memory when it is first used. If it does not match, the chunk
 * is retired. */
static bool check(struct cw_cache_chunk *chunk, uint32_t frame, const void *stored,
                  _Atomic uint64_t *bits, uint32_t bit)
{
    struct cw_err err = {0};

    if (atomic_load_explicit(bits, memory_order_acquire) >> bit & 1)
        return true;
    if (cw_chunk_frame_check(chunk->index, frame, stored, &err) != 0) {
        cw_request_retire(chunk, CW_CACHE_DAMAGED, err.msg);
        return false;
    }
    atomic_fetch_or_explicit(bits, (uint64_t)1 << bit, memory_order_acq_rel);
    return true;
}

/* Verifies a frame of the mapping when it is first used, or at each use (?verify=always), since
 * others can write to the file. If the bytes changed because the file could not be read, that is
 * the reason given (intact.c), not the checksum. */
static bool check_mapped(struct cw_cache_chunk *chunk, uint32_t frame)
{
    const unsigned char *stored = chunk->map + chunk->index->frames[frame].offset;
    struct cw_err err = {0};

    if (cw_chunk_is_checked(chunk, frame) && !cache_of(chunk)->verifies_always)
        return true;
    if (cw_chunk_frame_check(chunk->index, frame, stored, &err) != 0) {
        if (cw_intact_check(chunk))
            cw_request_retire(chunk, CW_CACHE_DAMAGED, err.msg);
        return false;
    }
    atomic_fetch_or_explicit(&chunk->checked[frame / 64].word, (uint64_t)1 << frame % 64,
                             memory_order_acq_rel);
    return true;
}

/* Looks only at the frame's first page: if the page cache has it, most likely it has all of the
 * frame. */
bool cw_frame_cache_is_resident(const struct cw_cache_chunk *chunk, uint32_t frame)
{
    uintptr_t page = ((uintptr_t)chunk->map + chunk->index->frames[frame].offset) &
                     ~(uintptr_t)(CW_MEM_PAGE - 1);
    unsigned char there = 0;

    return mincore((void *)page, 1, &there) == 0 && there & 1;
}

/* Takes a frame out of the prefetch queue whose get came before the queue reached it: another
 * thread had the frame read, or it is taken from the mapping. */
static void leave_queue(struct cw_cache_chunk *chunk, uint32_t frame)
{
    struct cw_cache *cache = cache_of(chunk);

    if (atomic_load_explicit(&chunk->queued_n, memory_order_relaxed) == 0)
        return;
    cw_mutex_lock(&cache->budget.lock);
    cw_prefetch_queue_skip(&cache->budget.queue, chunk, frame);
    cw_mutex_unlock(&cache->budget.lock);
    cw_frame_fetch_pump(cache);
}

/* Whether to take a frame from the mapping. It is not taken from there while it is in memory; and
 * at its first use only if the page cache has it. */
static bool is_mapped(struct cw_cache_chunk *chunk, uint32_t frame)
{
    if (!chunk->stored)
        return true;
    cw_mutex_lock(&chunk->lock);
    bool is_span = chunk->stored[frame] != NULL;
    cw_mutex_unlock(&chunk->lock);
    if (is_span ||
        (!cw_chunk_is_checked(chunk, frame) && !cw_frame_cache_is_resident(chunk, frame)))
        return false;
    leave_queue(chunk, frame);
    return true;
}

/* Records that a get came for the frame. Memory that was kept for it may be used for queued reads
 * now. */
static void note_used(struct cw_span *span, uint32_t frame)
{
    if (cw_frame_lru_used(span, frame))
        cw_frame_fetch_pump(cache_of(span->chunk));
}

static const unsigned char *stored_frame(struct cw_cache_chunk *chunk, uint32_t frame,
                                         struct cw_cache_pins *pins, int64_t *wait_ns)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (chunk->map && is_mapped(chunk, frame))
        return check_mapped(chunk, frame) ? chunk->map + f->offset : NULL;
    bool ready = false;
    struct cw_span *span = stored_span(chunk, frame, &ready);
    if (!span)
        return NULL;
    cw_pin_span(pins, span); /* the bytes stay valid until the pins are released */
    if (!ready && !wait_for(span, wait_ns))
        return NULL;
    note_used(span, frame);
    const unsigned char *p = span->data + (f->offset - chunk->index->frames[span->first].offset);
    return check(chunk, frame, p, &span->checked, frame - span->first) ? p : NULL;
}

/* ---- packed frames ---- */

/* Makes an empty span for an unpacked frame, with one reference for the table and one for the
 * caller. Returns NULL if there is no memory. */
static struct cw_span *plain_new(struct cw_cache_chunk *chunk, uint32_t frame)
{
    struct cw_memory_budget *budget = &cache_of(chunk)->budget;
    struct cw_garbage garbage = {0};
    size_t cap = cw_buffer_pool_cap(chunk->index->frames[frame].plain);
    unsigned char *data = NULL;

    cw_mutex_lock(&budget->lock);
    (void)cw_buffer_pool_take(budget, &cap, true, &data, &garbage);
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
    if (!data && !(data = cw_buffer_pool_alloc(cap))) {
        cw_mutex_lock(&budget->lock);
        cw_buffer_pool_give(budget, NULL, cap, &garbage);
        cw_mutex_unlock(&budget->lock);
        return NULL;
    }
    struct cw_span *span = CW_NEW(struct cw_span);
    atomic_init(&span->refs, 2);
    span->chunk = chunk;
    span->first = frame;
    span->n = 1;
    span->is_plain = true;
    span->state = CW_SPAN_READY;
    span->data = data;
    span->cap = cap;
    return span;
}

/* Gives up both references of a span that no other thread has seen. */
static void plain_discard(struct cw_span *span)
{
    cw_span_unref(span);
    cw_span_unref(span);
}

static const unsigned char *unpack(struct cw_cache_chunk *chunk, uint32_t frame,
                                   const unsigned char *stored, struct cw_cache_pins *pins)
{
    struct cw_memory_budget *budget = &cache_of(chunk)->budget;
    struct cw_err err = {0};
    struct cw_span *fresh = plain_new(chunk, frame);

    if (!fresh)
        return NULL;
    int rc = cw_chunk_frame_unpack(chunk->index, frame, stored, fresh->data, &err);
    bool intact = cw_intact_check(chunk);
    if (rc != 0 || !intact) {
        plain_discard(fresh);
        if (intact)
            cw_request_retire(chunk, CW_CACHE_DAMAGED, err.msg);
        return NULL;
    }
    cw_mutex_lock(&budget->lock);
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->plain[frame];
    if (!span) {
        chunk->plain[frame] = span = fresh;
        cw_frame_lru_put(budget, fresh, CW_FRAMES_RECENT);
    } else {
        atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    }
    cw_mutex_unlock(&chunk->lock);
    cw_mutex_unlock(&budget->lock);
    if (span != fresh)
        plain_discard(fresh);
    const unsigned char *p = span->data;
    cw_pin_span(pins, span);
    return p;
}

/* Returns the unpacked bytes of a packed frame, or NULL if it cannot be unpacked. The get may have
 * been announced for the unpacked span or for the stored one. */
static const unsigned char *plain_frame(struct cw_cache_chunk *chunk, uint32_t frame,
                                        struct cw_cache_pins *pins)
{
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->plain[frame],
                   *stored = chunk->stored ? chunk->stored[frame] : NULL;
    if (span)
        atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    if (!span || atomic_load(&span->wanted) ||
        (stored && (stored->state != CW_SPAN_READY || !atomic_load(&stored->wanted))))
        stored = NULL;
    if (stored)
        atomic_fetch_add_explicit(&stored->refs, 1, memory_order_relaxed);
    cw_mutex_unlock(&chunk->lock);
    if (!span)
        return NULL;
    note_used(stored ? stored : span, frame);
    if (stored)
        cw_span_unref(stored);
    const unsigned char *p = span->data;
    cw_pin_span(pins, span);
    return p;
}

const unsigned char *cw_frame_cache_get(struct cw_cache_chunk *chunk, uint32_t frame,
                                        struct cw_cache_pins *pins, int64_t *wait_ns)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (f->stored == f->plain)
        return stored_frame(chunk, frame, pins, wait_ns);
    const unsigned char *p = plain_frame(chunk, frame, pins);
    if (p)
        return p;
    const unsigned char *stored = stored_frame(chunk, frame, pins, wait_ns);
    return stored ? unpack(chunk, frame, stored, pins) : NULL;
}

bool cw_frame_cache_has(struct cw_cache_chunk *chunk, uint32_t frame)
{
    cw_mutex_lock(&chunk->lock);
    bool there = (chunk->stored && chunk->stored[frame]) || (chunk->plain && chunk->plain[frame]);
    cw_mutex_unlock(&chunk->lock);
    return there;
}

static void drop_table(struct cw_cache_chunk *chunk, struct cw_span **table)
{
    for (uint32_t i = 0; table && i < chunk->index->frames_n; i++) {
        cw_mutex_lock(&chunk->lock);
        struct cw_span *span = table[i];
        for (uint32_t k = 0; span && k < span->n; k++)
            table[span->first + k] = NULL;
        cw_mutex_unlock(&chunk->lock);
        if (span)
            cw_span_unref(span);
    }
}

void cw_frame_cache_drop_all(struct cw_cache_chunk *chunk)
{
    struct cw_memory_budget *budget = &cache_of(chunk)->budget;

    cw_mutex_lock(&budget->lock);
    cw_prefetch_queue_drop(&budget->queue, chunk);
    cw_mutex_unlock(&budget->lock);
    drop_table(chunk, chunk->stored);
    drop_table(chunk, chunk->plain);
}
