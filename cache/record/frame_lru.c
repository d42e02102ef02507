/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames stay in memory. A job reads each record once an epoch, so a frame that was read
 * just now is the one that will be needed last. When memory is full, the span that was added
 * last to the list of KEPT ones is evicted first; the others are hits in the next epoch, and the
 * buffer that was just used is the next one to be read into. Among the last few spans, those
 * survive that are in the prefetch queue once more: the nearer to its head, the more surely.
 * Every 16th eviction takes the oldest span, so that frames which nobody reads any more do not
 * stay for ever.
 *
 * Spans of mapped chunks come here only where a frame is read for the first time, past the page
 * cache, which data that is read once need not fill. Their buffers are reused first (DUPLICATE). A
 * frame whose last record was got just now stays a little in any case (RECENT): a reader that
 * announced nothing may go on there. What a thread has pinned stays where it is. */
#include "base/clock.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_lru.h"

/* The most bytes in RECENT; also, they take at most an eighth of the memory. */
#define RECENT_BYTES ((size_t)4 << 20)
#define EVICTIONS_PER_OLDEST 16u /* of so many evictions, one takes the oldest span */
/* The number of spans that are looked at in search of one that is not pinned and not needed
 * soon. */
#define LOOK_AT 64u
#define OLD_NS ((int64_t)5 * 1000000000)

static void take_off(struct cw_memory_budget *budget, struct cw_span *span)
{
    struct cw_span_list *list = &budget->lists[span->list_no];

    if (span->list_no == CW_FRAMES_UNLISTED)
        return;
    if (span->prev)
        span->prev->next = span->next;
    else
        list->head = span->next;
    if (span->next)
        span->next->prev = span->prev;
    else
        list->tail = span->prev;
    list->bytes -= span->cap;
    span->prev = span->next = NULL;
    span->list_no = CW_FRAMES_UNLISTED;
}

static void move(struct cw_memory_budget *budget, struct cw_span *span, enum cw_frame_list list_no)
{
    struct cw_span_list *list = &budget->lists[list_no];

    take_off(budget, span);
    if (list_no == CW_FRAMES_UNLISTED)
        return;
    span->prev = list->tail;
    if (list->tail)
        list->tail->next = span;
    else
        list->head = span;
    list->tail = span;
    list->bytes += span->cap;
    span->list_no = list_no;
}

void cw_frame_lru_put(struct cw_memory_budget *budget, struct cw_span *span,
                      enum cw_frame_list list_no)
{
    const struct cw_span_list *recent = &budget->lists[CW_FRAMES_RECENT];

    move(budget, span, list_no);
    while (recent->bytes > CW_MIN(budget->limit / 8, RECENT_BYTES) && recent->head != span)
        move(budget, recent->head,
             recent->head->chunk->map && !recent->head->is_plain ? CW_FRAMES_DUPLICATE
                                                                 : CW_FRAMES_KEPT);
}

/* Marks the frames of the span as verified. The next get takes them from the mapping, through the
 * page cache. */
static void mark_checked(struct cw_cache_chunk *chunk, const struct cw_span *span)
{
    uint64_t good = atomic_load_explicit(&span->checked, memory_order_relaxed);

    for (uint32_t i = 0; i < span->n; i++) {
        uint32_t frame = span->first + i;

        if (good >> i & 1)
            atomic_fetch_or_explicit(&chunk->checked[frame / 64].word, (uint64_t)1 << frame % 64,
                                     memory_order_release);
    }
}

/* Takes the span out of its chunk's table. Returns false if a thread has it pinned. */
static bool take_from_chunk(struct cw_span *span)
{
    struct cw_cache_chunk *chunk = span->chunk;
    bool mine = false;

    cw_mutex_lock(&chunk->lock);
    struct cw_span **table = span->is_plain ? chunk->plain : chunk->stored;
    if (table[span->first] == span &&
        atomic_load_explicit(&span->refs, memory_order_acquire) == 1) {
        for (uint32_t i = 0; i < span->n; i++)
            table[span->first + i] = NULL;
        if (chunk->map && !span->is_plain)
            mark_checked(chunk, span);
        mine = true;
    }
    cw_mutex_unlock(&chunk->lock);
    return mine;
}

/* Returns that one of the first unpinned spans of the list which is needed last. */
static struct cw_span *find_last_needed(const struct cw_span_list *list, bool newest)
{
    struct cw_span *span = newest ? list->tail : list->head, *found = NULL;
    uint64_t found_position = 0;

    for (unsigned i = 0; span && i < LOOK_AT && found_position != CW_PREFETCH_NEVER;
         i++, span = newest ? span->prev : span->next) {
        uint64_t position = atomic_load_explicit(&span->refs, memory_order_relaxed) == 1
                                ? cw_prefetch_queue_position(span)
                                : 0;

        if (position > found_position) {
            found = span;
            found_position = position;
        }
    }
    return found;
}

static struct cw_span *drop_from(struct cw_memory_budget *budget, enum cw_frame_list list_no,
                                 bool newest)
{
    for (unsigned i = 0; i < LOOK_AT; i++) { /* a span may get pinned while it is looked at */
        struct cw_span *span = find_last_needed(&budget->lists[list_no], newest);

        if (!span || take_from_chunk(span)) {
            if (span)
                take_off(budget, span);
            return span;
        }
    }
    return NULL;
}

struct cw_span *cw_frame_lru_evict_duplicate(struct cw_memory_budget *budget)
{
    return drop_from(budget, CW_FRAMES_DUPLICATE, false);
}

/* Of PREFETCHED spans the newest is evicted first, since its gets will come last. */
struct cw_span *cw_frame_lru_evict(struct cw_memory_budget *budget, bool all)
{
    struct cw_span *span = cw_frame_lru_evict_duplicate(budget);

    if (!span)
        span = drop_from(budget, CW_FRAMES_KEPT, ++budget->dropped % EVICTIONS_PER_OLDEST != 0);
    if (!span)
        span = drop_from(budget, CW_FRAMES_RECENT, false);
    if (!span && all)
        span = drop_from(budget, CW_FRAMES_PREFETCHED, true);
    return span;
}

void cw_frame_lru_expire(struct cw_memory_budget *budget)
{
    const struct cw_span_list *ahead = &budget->lists[CW_FRAMES_PREFETCHED];
    int64_t now = cw_clock_ns();

    while (ahead->head && now - ahead->head->since_ns >= OLD_NS &&
           atomic_load(&ahead->head->refs) == 1) {
        atomic_store(&ahead->head->wanted, 0);
        cw_frame_lru_put(budget, ahead->head, CW_FRAMES_RECENT);
    }
}

bool cw_frame_lru_used(struct cw_span *span, uint32_t frame)
{
    struct cw_cache_chunk *chunk = span->chunk;
    struct cw_memory_budget *budget = &chunk->dataset->cache->budget;
    unsigned n = atomic_load_explicit(&span->wanted, memory_order_relaxed);

    while (n && !atomic_compare_exchange_weak_explicit(&span->wanted, &n, n - 1,
                                                       memory_order_relaxed, memory_order_relaxed))
        ;
    if (n > 1 || (n == 0 && atomic_load_explicit(&chunk->queued_n, memory_order_relaxed) == 0))
        return false;
    cw_mutex_lock(&budget->lock);
    if (n == 0 && atomic_load_explicit(&chunk->queued_n, memory_order_relaxed) > 0)
        /* this get came before the gets of the entries ahead of it in the queue */
        cw_prefetch_queue_skip(&budget->queue, chunk, frame);
    else if (span->list_no == CW_FRAMES_PREFETCHED && atomic_load(&span->wanted) == 0)
        cw_frame_lru_put(budget, span, CW_FRAMES_RECENT);
    cw_mutex_unlock(&budget->lock);
    return true;
}
