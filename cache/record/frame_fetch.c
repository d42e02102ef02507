/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of frames that cannot be mapped, on their way into memory. What will be needed is announced
 * (cw_frame_fetch_enqueue) and queued in that order (prefetch_queue.c). The head of the queue is
 * served as long as limits allow: a frame that is in memory is kept for its gets; one that is not
 * is read, together with the frames that follow it in the queue and in the file, up to 1 MiB in
 * one read. Few reads are under way at a time, and the bytes kept for gets are bounded, so that
 * buffers come back while they are warm, and what is needed later does not keep what is needed
 * before it from being read. A thread that needs a frame which is still queued has it read at
 * once. Reads go straight into the span's buffer; checksums of all its frames are verified where
 * the read ends, so that a get finds them verified. */
#include "base/clock.h"
#include "cache/record/buffer_pool.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_fetch.h"
#include "cache/record/frame_lru.h"
#include "cache/record/requests.h"

#define UNDER_WAY 16u /* the most reads under way for prefetching: twice the threads of a store */
/* The most bytes that were read ahead and wait for gets; also, they take at most three quarters of
 * the memory. */
#define AHEAD_BYTES ((size_t)32 << 20)
/* an entry of the prefetch queue that is older than this is dropped */
#define STALE_NS ((int64_t)30 * 1000000000)
/* After this many failed reads of a chunk in a row, while the store answered, the chunk is
 * retired. */
#define FAILURES_MAX 3

/* One read from the store. It is not part of its span, since an I/O thread that is stuck in a read
 * may write to the data long after the read was given up. */
struct fetch {
    struct cw_store_read read;
    struct cw_span *span;
    /* The buffer of a read that failed. It is freed when no thread can write to it any more. */
    unsigned char *data;
};

static struct cw_cache *cache_of(const struct cw_span *span)
{
    return span->chunk->dataset->cache;
}

static size_t bytes_of(const struct cw_span *span)
{
    const struct cw_chunk_frame *first = &span->chunk->index->frames[span->first],
                                *last = first + (span->n - 1);

    return (size_t)(last->offset + last->stored - first->offset);
}

/* ---- a read ---- */

static void note_failure(struct cw_cache_chunk *chunk, int rc, const struct cw_err *err)
{
    if (rc == CW_E_NOT_FOUND)
        cw_request_retire(chunk, CW_CACHE_GONE, err->msg);
    else if (rc == CW_E_CORRUPT)
        cw_request_retire(chunk, CW_CACHE_DAMAGED, err->msg);
    else if (rc != CW_E_TIMEOUT && rc != CW_E_UNAVAILABLE &&
             atomic_fetch_add_explicit(&chunk->failures, 1, memory_order_relaxed) + 1 >=
                 FAILURES_MAX)
        cw_request_retire(chunk, CW_CACHE_DAMAGED, err->msg);
}

/* Verifies all frames of the span. A damaged one is found again by the get that uses it; its
 * neighbours are not affected. */
static void check_all(struct cw_span *span)
{
    const struct cw_chunk_index *index = span->chunk->index;
    uint64_t good = 0;

    for (uint32_t i = 0; i < span->n; i++) {
        const unsigned char *stored = span->data + (index->frames[span->first + i].offset -
                                                    index->frames[span->first].offset);

        good |= (uint64_t)(cw_chunk_frame_check(index, span->first + i, stored, NULL) == 0) << i;
    }
    atomic_store_explicit(&span->checked, good, memory_order_release);
}

/* Ends a read: the span goes to one of the lists of the LRU. The buffer of a read that failed goes
 * to the fetch. */
static void list_span(struct fetch *fetch, bool ok)
{
    struct cw_span *span = fetch->span;
    struct cw_memory_budget *budget = &cache_of(span)->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    budget->reading--;
    span->since_ns = cw_clock_ns();
    if (!ok) {
        cw_frame_lru_put(budget, span, CW_FRAMES_UNLISTED);
        cw_buffer_pool_give(budget, NULL, span->cap, &garbage);
        fetch->data = span->data;
        span->data = NULL;
        span->cap = 0;
    } else if (atomic_load(&span->wanted) == 0) {
        cw_frame_lru_put(budget, span, CW_FRAMES_RECENT);
    }
    cw_mutex_unlock(&budget->lock);
}

static void publish(struct cw_span *span, bool ok)
{
    struct cw_cache_chunk *chunk = span->chunk;

    cw_mutex_lock(&chunk->lock);
    span->state = ok ? CW_SPAN_READY : CW_SPAN_FAILED;
    for (uint32_t i = 0; !ok && i < span->n; i++)
        chunk->stored[span->first + i] = NULL;
    cw_cond_broadcast(&chunk->arrived);
    cw_mutex_unlock(&chunk->lock);
    if (!ok)
        cw_span_unref(span); /* the reference of the chunk's table */
}

static void on_read(struct cw_store_read *read, int rc)
{
    struct fetch *fetch = CW_CONTAINER_OF(read, struct fetch, read);
    struct cw_span *span = fetch->span;
    struct cw_cache_chunk *chunk = span->chunk;
    struct cw_cache *cache = cache_of(span);

    if (rc == 0)
        check_all(span);
    list_span(fetch, rc == 0);
    publish(span, rc == 0);
    cw_request_note_result(cache, rc, &read->err);
    if (rc == 0)
        atomic_store_explicit(&chunk->failures, 0, memory_order_relaxed);
    else
        note_failure(chunk, rc, &read->err);
    cw_span_unref(span);
    cw_cache_handle_release(chunk->handle);
    cw_frame_fetch_pump(cache);
    cw_mutex_lock(&cache->lock);
    if (--cache->reads == 0)
        cw_cond_broadcast(&cache->idle);
    cw_mutex_unlock(&cache->lock);
}

static void on_left(struct cw_store_read *read)
{
    struct fetch *fetch = CW_CONTAINER_OF(read, struct fetch, read);

    cw_mem_free(fetch->data);
    cw_mem_free(fetch);
}

/* Puts the span, with its buffer, into the list of prefetched spans; data NULL: the buffer is still
 * to be allocated. Takes a reference to the span for the read; the caller takes one of the chunk's
 * handle. Called with the budget's lock held. */
static void begin(struct cw_memory_budget *budget, struct cw_span *span, unsigned char *data,
                  size_t cap)
{
    cw_frame_lru_put(budget, span, CW_FRAMES_UNLISTED);
    span->data = data;
    span->cap = cap;
    span->since_ns = cw_clock_ns();
    cw_frame_lru_put(budget, span, CW_FRAMES_PREFETCHED);
    atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    budget->reading++;
}

static void start(struct cw_span *span)
{
    struct cw_cache *cache = cache_of(span);
    struct cw_cache_chunk *chunk = span->chunk;
    struct fetch *fetch = CW_NEW(struct fetch);

    cw_mutex_lock(&cache->lock);
    cache->reads++;
    cw_mutex_unlock(&cache->lock);
    if (!span->data)
        span->data = cw_buffer_pool_alloc(span->cap);
    fetch->span = span;
    fetch->read = (struct cw_store_read){.file = chunk->file,
                                         .offset = chunk->index->frames[span->first].offset,
                                         .dst = span->data,
                                         .n = bytes_of(span),
                                         .done = on_read,
                                         .left = on_left,
                                         .past = chunk->map != NULL};
    if (span->data) {
        cw_store_file_read_start(&fetch->read);
        return;
    }
    on_read(&fetch->read,
            cw_err_set(&fetch->read.err, CW_E_NOMEM, "%s: no memory to read", chunk->name));
    on_left(&fetch->read);
}

/* ---- choosing the next read ---- */

/* Makes a span for n frames that are not in memory; the queued gets of these frames are counted at
 * the span from now on. Called with the budget's lock and chunk->lock held. */
static struct cw_span *new_span(struct cw_memory_budget *budget, struct cw_cache_chunk *chunk,
                                uint32_t frame, uint32_t n)
{
    struct cw_span *span = CW_NEW(struct cw_span);

    atomic_init(&span->refs, 1);
    span->chunk = chunk;
    span->first = frame;
    span->n = n;
    for (uint32_t i = 0; i < span->n; i++) {
        atomic_fetch_add_explicit(&span->wanted,
                                  cw_prefetch_queue_take(&budget->queue, chunk, frame + i),
                                  memory_order_relaxed);
        chunk->stored[frame + i] = span;
    }
    return span;
}

void cw_frame_fetch_enqueue(struct cw_cache_chunk *chunk, const uint32_t *frames, size_t n)
{
    struct cw_memory_budget *budget = &chunk->dataset->cache->budget;
    int64_t now = cw_clock_ns();

    cw_mutex_lock(&budget->lock);
    for (size_t i = 0; i < n && cw_prefetch_queue_push(&budget->queue, chunk, frames[i], now); i++)
        ;
    cw_mutex_unlock(&budget->lock);
}

struct cw_span *cw_frame_fetch_now(struct cw_cache_chunk *chunk, uint32_t frame)
{
    struct cw_memory_budget *budget = &chunk->dataset->cache->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = chunk->stored[frame];
    bool mine = !span;
    if (mine)
        span = new_span(budget, chunk, frame, cw_prefetch_queue_run(chunk, frame));
    atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
    cw_mutex_unlock(&chunk->lock);
    if (mine) {
        size_t cap = cw_buffer_pool_cap(bytes_of(span));
        unsigned char *data = NULL;

        (void)cw_buffer_pool_take(budget, &cap, true, &data, &garbage);
        begin(budget, span, data, cap);
        cw_cache_handle_ref(chunk->handle);
    }
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
    if (mine)
        start(span);
    return span;
}

static bool may_begin(const struct cw_memory_budget *budget, size_t cap)
{
    size_t ahead = budget->lists[CW_FRAMES_PREFETCHED].bytes;

    return ahead == 0 || ahead + cap <= CW_MIN(budget->limit / 4 * 3, AHEAD_BYTES);
}

static bool evict_for(struct cw_memory_budget *budget, size_t cap)
{
    if (!may_begin(budget, cap))
        cw_frame_lru_expire(budget);
    return may_begin(budget, cap);
}

/* Keeps the frame at the head of the queue, which is in memory or being read: its queued gets are
 * counted at its span from now on. Returns false if too many bytes are kept for gets already.
 * Called with the budget's lock and chunk->lock held. */
static bool keep_for_gets(struct cw_memory_budget *budget, struct cw_cache_chunk *chunk,
                          uint32_t frame, struct cw_span *span)
{
    bool is_kept = span->list_no != CW_FRAMES_UNLISTED && span->list_no != CW_FRAMES_PREFETCHED;

    if (is_kept && !evict_for(budget, span->cap))
        return false;
    atomic_fetch_add(&span->wanted, cw_prefetch_queue_take(&budget->queue, chunk, frame));
    if (is_kept) {
        span->since_ns = cw_clock_ns();
        cw_frame_lru_put(budget, span, CW_FRAMES_PREFETCHED);
    }
    return true;
}

/* Makes a span for the frame at the head of the queue and those that follow it. The caller holds a
 * reference to the chunk's handle. Returns NULL if there is no memory. Called with the budget's
 * lock held. */
static struct cw_span *begin_head(struct cw_memory_budget *budget, struct cw_cache_chunk *chunk,
                                  uint32_t frame, struct cw_garbage *garbage)
{
    const struct cw_chunk_frame *first = &chunk->index->frames[frame];
    unsigned char *data = NULL;

    cw_mutex_lock(&chunk->lock);
    uint32_t n = cw_prefetch_queue_run(chunk, frame);
    cw_mutex_unlock(&chunk->lock);
    const struct cw_chunk_frame *last = first + (n - 1);
    size_t cap = cw_buffer_pool_cap((size_t)(last->offset + last->stored - first->offset));
    if (!evict_for(budget, cap) || !cw_buffer_pool_take(budget, &cap, false, &data, garbage))
        return NULL;
    /* no other thread has entered a span meanwhile, since that takes the budget's lock */
    cw_mutex_lock(&chunk->lock);
    struct cw_span *span = new_span(budget, chunk, frame, n);
    cw_mutex_unlock(&chunk->lock);
    begin(budget, span, data, cap);
    return span;
}

/* Serves the frame at the head of the queue. Returns false if no read may begin now. Called with
 * the budget's lock held, which it gives up while it begins a read. */
static bool serve_head(struct cw_cache *cache)
{
    struct cw_memory_budget *budget = &cache->budget;
    const struct cw_prefetch_entry *want = cw_prefetch_queue_head(&budget->queue);
    struct cw_garbage garbage = {0};

    if (!want || atomic_load(&cache->closed))
        return false;
    struct cw_cache_chunk *chunk = want->chunk;
    uint32_t frame = want->frame;
    if (cw_clock_ns() - want->since_ns >= STALE_NS || !cw_cache_handle_is_live(chunk->handle))
        return cw_prefetch_queue_take(&budget->queue, chunk, frame) > 0;
    cw_mutex_lock(&chunk->lock);
    struct cw_span *there =
        chunk->plain && chunk->plain[frame] ? chunk->plain[frame] : chunk->stored[frame];
    bool kept = there && keep_for_gets(budget, chunk, frame, there);
    cw_mutex_unlock(&chunk->lock);
    if (there || budget->reading >= UNDER_WAY || !cw_cache_handle_try_acquire(chunk->handle))
        return kept;
    struct cw_span *span = begin_head(budget, chunk, frame, &garbage);
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
    if (span)
        start(span);
    else
        cw_cache_handle_release(chunk->handle);
    cw_mutex_lock(&budget->lock);
    return span != NULL;
}

/* One thread at a time serves the queue. Others set pump_again, since a read may end while another
 * is being begun. */
void cw_frame_fetch_pump(struct cw_cache *cache)
{
    struct cw_memory_budget *budget = &cache->budget;

    if (atomic_load_explicit(&budget->queue.n, memory_order_relaxed) == 0)
        return;
    cw_mutex_lock(&budget->lock);
    budget->pump_again = true;
    while (!budget->pumping && budget->pump_again) {
        budget->pumping = true;
        budget->pump_again = false;
        while (serve_head(cache))
            ;
        budget->pumping = false;
    }
    cw_mutex_unlock(&budget->lock);
}
