/* SPDX-License-Identifier: Apache-2.0 */
/* One limit holds for the memory of write buffers, of frames that were read, and of idle buffers of
 * both. Write buffers take at most three quarters, frames the rest; frames are evicted for the sake
 * of both (frame_lru.c chooses which). A frame that is needed now is read even if that exceeds the
 * limit, since what a thread has pinned cannot be taken from it; prefetching and filling never
 * exceed it. */
#include "cache/record/buffer_pool.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_lru.h"

/* After this many ticks of the maintenance thread without a write or a read (ten seconds) idle
 * memory is freed. */
#define QUIET_TICKS 40u

static bool make_room(struct cw_memory_budget *budget, size_t bytes, bool all,
                      struct cw_garbage *garbage)
{
    while (cw_memory_budget_is_over(budget, bytes)) {
        if (cw_buffer_pool_drop(budget, garbage) || cw_segment_pool_drop(budget, garbage))
            continue;
        struct cw_span *span = cw_frame_lru_evict(budget, all);
        if (!span)
            return false;
        budget->frames -= span->cap;
        span->next = garbage->spans;
        garbage->spans = span;
    }
    return true;
}

static bool may_write(struct cw_memory_budget *budget, size_t bytes, struct cw_garbage *garbage)
{
    size_t limit = budget->limit / 4 * 3;

    return budget->writing <= limit && bytes <= limit - budget->writing &&
           make_room(budget, bytes, true, garbage);
}

bool cw_memory_budget_reserve(struct cw_cache *cache, size_t bytes)
{
    struct cw_memory_budget *budget = &cache->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    bool ok = may_write(budget, bytes, &garbage);
    if (ok)
        budget->writing += bytes;
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
    return ok;
}

void cw_memory_budget_release(struct cw_cache *cache, size_t bytes)
{
    cw_mutex_lock(&cache->budget.lock);
    cache->budget.writing -= bytes;
    cw_mutex_unlock(&cache->budget.lock);
}

static struct cw_segment *new_segment(size_t bytes)
{
    struct cw_segment *segment = CW_NEW(struct cw_segment);

    segment->bytes = bytes;
    segment->data = cw_mem_try_pages(bytes);
    if (segment->data)
        return segment;
    cw_mem_free(segment);
    return NULL;
}

struct cw_segment *cw_memory_budget_take_segment(struct cw_cache *cache, size_t at_least)
{
    struct cw_memory_budget *budget = &cache->budget;
    size_t bytes = CW_MAX(cache->segment_bytes, at_least);
    struct cw_segment *segment = NULL;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    if (bytes == cache->segment_bytes && budget->writing <= budget->limit / 4 * 3 - bytes)
        segment = cw_segment_pool_pop(budget);
    bool ok = segment || may_write(budget, bytes, &garbage);
    if (ok)
        budget->writing += bytes;
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
    if (ok && !segment && !(segment = new_segment(bytes)))
        cw_memory_budget_release(cache, bytes);
    return segment;
}

void cw_memory_budget_give_segments(struct cw_cache *cache, struct cw_segment *first)
{
    struct cw_memory_budget *budget = &cache->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    while (first) {
        struct cw_segment *next = first->next;
        bool keep = first->bytes == cache->segment_bytes && !cw_memory_budget_is_over(budget, 0);

        budget->writing -= first->bytes;
        first->used = first->begin = 0;
        if (keep) {
            cw_segment_pool_push(budget, first);
        } else {
            first->next = garbage.segments;
            garbage.segments = first;
        }
        first = next;
    }
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
}

void cw_memory_budget_abandon_segments(struct cw_cache *cache, const struct cw_segment *first)
{
    for (; first; first = first->next)
        cw_memory_budget_release(cache, first->bytes);
}

/* Frees idle memory when nobody has needed any for a while. */
void cw_memory_budget_trim(struct cw_cache *cache)
{
    struct cw_memory_budget *budget = &cache->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    budget->quiet = budget->writing || budget->busy ? 0 : budget->quiet + 1;
    budget->busy = false;
    while (budget->quiet >= QUIET_TICKS && cw_buffer_pool_drop(budget, &garbage))
        ;
    while (budget->quiet >= QUIET_TICKS && cw_segment_pool_drop(budget, &garbage))
        ;
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
}

void cw_memory_budget_fini(struct cw_memory_budget *budget)
{
    struct cw_garbage garbage = {.segments = budget->pool};

    while (cw_buffer_pool_drop(budget, &garbage))
        ;
    cw_garbage_free(&garbage);
    cw_prefetch_queue_fini(&budget->queue);
    cw_mutex_fini(&budget->lock);
}

size_t cw_cache_memory_used(const struct cw_cache *cache)
{
    /* The cache is const to the caller, but its lock is taken. */
    struct cw_memory_budget *budget = &((struct cw_cache *)(uintptr_t)cache)->budget;

    cw_mutex_lock(&budget->lock);
    size_t used = budget->writing + budget->frames;
    cw_mutex_unlock(&budget->lock);
    return used;
}
