/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in memory: of stores that cannot map, as they stand in the file (several neighbours by one read: a span); and packed ones, unpacked.
 * A chunk has a table of each kind with a pointer a frame; the table has one ref, each thread that works on it and a read under way have
 * others. What only the table holds may be dropped (room.c). */
#include <string.h>

#include "base/clock.h"
#include "cache/cache_int.h"

#define FAILURES_MAX 3 /* reads of one chunk in a row, while the store answers: then it is given up */

static struct cw_cache *cache_of(const struct cw_cache_chunk *chunk)
{
    return chunk->node->cache;
}

void cw_span_unref(struct cw_span *span)
{
    if (atomic_fetch_sub_explicit(&span->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_room_frames_sub(cache_of(span->chunk), span->bytes);
    cw_mem_free(span->data);
    cw_mem_free(span);
}

/* With refs for the table and for the caller. NULL: no memory. */
static struct cw_span *span_new(struct cw_cache_chunk *chunk, uint32_t first, uint32_t n, size_t bytes, enum cw_room_urgency urgency)
{
    if (!cw_room_frames_add(cache_of(chunk), bytes, urgency))
        return NULL;
    struct cw_span *span = CW_NEW(struct cw_span);
    span->data = cw_mem_try_aligned(64, bytes);
    if (!span->data) {
        cw_room_frames_sub(cache_of(chunk), bytes);
        cw_mem_free(span);
        return NULL;
    }
    atomic_init(&span->refs, 2);
    span->chunk = chunk;
    span->first = first;
    span->n = n;
    span->bytes = bytes;
    return span;
}

/* Two refs of one that nobody has seen. */
static void span_discard(struct cw_span *span)
{
    cw_span_unref(span);
    cw_span_unref(span);
}

/* chunk->lock. false: one of them is there already. */
static bool table_enter(struct cw_span **table, struct cw_span *span)
{
    for (uint32_t i = 0; i < span->n; i++)
        if (table[span->first + i])
            return false;
    for (uint32_t i = 0; i < span->n; i++)
        table[span->first + i] = span;
    return true;
}

/* chunk->lock */
static void table_leave(struct cw_span **table, struct cw_span *span)
{
    for (uint32_t i = 0; i < span->n; i++)
        table[span->first + i] = NULL;
}

/* ---- reading ---- */

static void note_failure(struct cw_cache_chunk *chunk, int rc, const struct cw_err *err)
{
    if (rc == CW_E_NOT_FOUND)
        cw_keep_retire(chunk, CW_CACHE_GONE, err->msg);
    else if (rc == CW_E_CORRUPT)
        cw_keep_retire(chunk, CW_CACHE_DAMAGED, err->msg);
    else if (rc != CW_E_TIMEOUT && rc != CW_E_UNAVAILABLE
             && atomic_fetch_add_explicit(&chunk->failures, 1, memory_order_relaxed) + 1 >= FAILURES_MAX)
        cw_keep_retire(chunk, CW_CACHE_DAMAGED, err->msg);
}

static void on_read(struct cw_store_read *read, int rc)
{
    struct cw_span *span = CW_CONTAINER_OF(read, struct cw_span, read);
    struct cw_cache_chunk *chunk = span->chunk;
    struct cw_cache *cache = cache_of(chunk);

    if (rc == 0)
        cw_room_span_add(cache, span);
    cw_mutex_lock(&chunk->lock);
    span->state = rc == 0 ? CW_SPAN_READY : CW_SPAN_FAILED;
    if (rc != 0)
        table_leave(chunk->stored, span);
    cw_cond_broadcast(&chunk->arrived);
    cw_mutex_unlock(&chunk->lock);
    cw_keep_result(cache, rc, &read->err);
    if (rc == 0) {
        atomic_store_explicit(&chunk->failures, 0, memory_order_relaxed);
    } else {
        note_failure(chunk, rc, &read->err);
        cw_span_unref(span); /* the table's */
    }
    cw_span_unref(span);
    cw_slot_drop(chunk->slot);
    cw_mutex_lock(&cache->lock);
    if (--cache->reads == 0)
        cw_cond_broadcast(&cache->idle);
    cw_mutex_unlock(&cache->lock);
}

/* The caller holds the slot; the read has its own refs. */
static void start(struct cw_span *span)
{
    struct cw_cache_chunk *chunk = span->chunk;
    struct cw_cache *cache = cache_of(chunk);

    cw_slot_ref(chunk->slot);
    cw_mutex_lock(&cache->lock);
    cache->reads++;
    cw_mutex_unlock(&cache->lock);
    span->read = (struct cw_store_read){.file = chunk->file, .offset = chunk->index->frames[span->first].offset, .dst = span->data,
                                        .n = span->bytes, .done = on_read};
    cw_store_file_read_start(&span->read);
}

static size_t bytes_of(const struct cw_cache_chunk *chunk, uint32_t first, uint32_t n)
{
    const struct cw_chunk_frame *last = &chunk->index->frames[first + n - 1];

    return (size_t)(last->offset + last->stored - chunk->index->frames[first].offset);
}

/* A span that holds the frame, and a ref to it: the one that is there, else a new one whose read is begun. */
static struct cw_span *stored_span(struct cw_cache_chunk *chunk, uint32_t frame)
{
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->stored[frame];
    if (span)
        atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    cw_mutex_unlock(&chunk->lock);
    if (span || cw_store_is_away(cache_of(chunk)->store, NULL))
        return span;
    struct cw_span *fresh = span_new(chunk, frame, 1, bytes_of(chunk, frame, 1), CW_ROOM_NOW);
    if (!fresh)
        return NULL;
    cw_mutex_lock(&chunk->lock);
    span = chunk->stored[frame];
    if (!span)
        chunk->stored[frame] = span = fresh;
    atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    cw_mutex_unlock(&chunk->lock);
    if (span == fresh)
        start(span);
    else
        span_discard(fresh);
    return span;
}

static bool wait_for(struct cw_span *span, int64_t *wait_ns)
{
    struct cw_cache_chunk *chunk = span->chunk;

    cw_mutex_lock(&chunk->lock);
    if (span->state == CW_SPAN_READING) {
        int64_t begin = cw_clock_ns(), deadline = begin + cache_of(chunk)->timeout_ms * 1000000;

        while (span->state == CW_SPAN_READING && cw_cond_wait_until(&chunk->arrived, &chunk->lock, deadline))
            ;
        *wait_ns += cw_clock_ns() - begin;
    }
    bool ready = span->state == CW_SPAN_READY;
    cw_mutex_unlock(&chunk->lock);
    return ready;
}

/* Checked once; damage ends the chunk. */
static bool check(struct cw_cache_chunk *chunk, uint32_t frame, const void *stored, _Atomic uint64_t *bits, uint32_t bit)
{
    struct cw_err err = {0};

    if (atomic_load_explicit(bits, memory_order_acquire) >> bit & 1)
        return true;
    if (cw_chunk_frame_check(chunk->index, frame, stored, &err) != 0) {
        cw_keep_retire(chunk, CW_CACHE_DAMAGED, err.msg);
        return false;
    }
    atomic_fetch_or_explicit(bits, (uint64_t)1 << bit, memory_order_acq_rel);
    return true;
}

static const unsigned char *stored_frame(struct cw_cache_chunk *chunk, uint32_t frame, struct cw_cache_hold *hold, int64_t *wait_ns)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (chunk->map)
        return check(chunk, frame, chunk->map + f->offset, &chunk->checked[frame / 64].word, frame % 64) ? chunk->map + f->offset : NULL;
    struct cw_span *span = stored_span(chunk, frame);
    if (!span)
        return NULL;
    cw_hold_span(hold, span); /* it stays valid until release */
    if (!wait_for(span, wait_ns))
        return NULL;
    atomic_store_explicit(&span->touched, 2, memory_order_relaxed);
    const unsigned char *p = span->data + (f->offset - chunk->index->frames[span->first].offset);
    return check(chunk, frame, p, &span->checked, frame - span->first) ? p : NULL;
}

/* ---- packed frames ---- */

static const unsigned char *unpack(struct cw_cache_chunk *chunk, uint32_t frame, const unsigned char *stored, struct cw_cache_hold *hold)
{
    struct cw_err err = {0};
    struct cw_span *fresh = span_new(chunk, frame, 1, chunk->index->frames[frame].plain, CW_ROOM_NOW);

    if (!fresh)
        return NULL;
    fresh->is_plain = true;
    fresh->state = CW_SPAN_READY;
    atomic_init(&fresh->touched, 2);
    if (cw_chunk_frame_unpack(chunk->index, frame, stored, fresh->data, &err) != 0) {
        span_discard(fresh);
        cw_keep_retire(chunk, CW_CACHE_DAMAGED, err.msg);
        return NULL;
    }
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->plain[frame];
    if (!span)
        chunk->plain[frame] = span = fresh;
    else
        atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    cw_mutex_unlock(&chunk->lock);
    if (span == fresh)
        cw_room_span_add(cache_of(chunk), fresh);
    else
        span_discard(fresh);
    const unsigned char *p = span->data;
    cw_hold_span(hold, span);
    return p;
}

const unsigned char *cw_frames_get(struct cw_cache_chunk *chunk, uint32_t frame, struct cw_cache_hold *hold, int64_t *wait_ns)
{
    const struct cw_chunk_frame *f = &chunk->index->frames[frame];

    if (f->stored == f->plain)
        return stored_frame(chunk, frame, hold, wait_ns);
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->plain[frame];
    if (span) {
        atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
        atomic_store_explicit(&span->touched, 2, memory_order_relaxed);
    }
    cw_mutex_unlock(&chunk->lock);
    if (span) {
        const unsigned char *p = span->data;

        cw_hold_span(hold, span);
        return p;
    }
    const unsigned char *stored = stored_frame(chunk, frame, hold, wait_ns);
    return stored ? unpack(chunk, frame, stored, hold) : NULL;
}

/* ---- ahead ---- */

bool cw_frames_are_there(struct cw_cache_chunk *chunk, uint32_t frame)
{
    cw_mutex_lock(&chunk->lock);
    bool there = (chunk->stored && chunk->stored[frame]) || (chunk->plain && chunk->plain[frame]);
    cw_mutex_unlock(&chunk->lock);
    return there;
}

bool cw_frames_start(struct cw_cache_chunk *chunk, uint32_t first, uint32_t n)
{
    struct cw_span *span = span_new(chunk, first, n, bytes_of(chunk, first, n), CW_ROOM_AHEAD);

    if (!span)
        return false;
    cw_mutex_lock(&chunk->lock);
    bool mine = table_enter(chunk->stored, span);
    cw_mutex_unlock(&chunk->lock);
    if (mine)
        start(span);
    else
        span_discard(span);
    return true;
}

static void drop_table(struct cw_cache_chunk *chunk, struct cw_span **table)
{
    for (uint32_t i = 0; table && i < chunk->index->frames_n; i++) {
        cw_mutex_lock(&chunk->lock);
        struct cw_span *span = table[i];
        if (span)
            table_leave(table, span);
        cw_mutex_unlock(&chunk->lock);
        if (span) {
            cw_room_span_remove(cache_of(chunk), span);
            cw_span_unref(span);
        }
    }
}

void cw_frames_drop_all(struct cw_cache_chunk *chunk)
{
    drop_table(chunk, chunk->stored);
    drop_table(chunk, chunk->plain);
}
