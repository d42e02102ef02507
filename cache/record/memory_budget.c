/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: one limit for blocks that wait to be written and frames that were read. Blocks take at
 * most three quarters, frames what is left; frames give way to both (which: frame_lru.c). A frame
 * that is needed now is read even if that exceeds the limit (what a thread holds cannot be taken
 * from it); reading ahead and filling never do. Segments of blocks are used again while there is
 * room: fresh memory costs page faults as much as copying. */
#include "cache/record/record_int.h"

#define QUIET_TICKS 40u /* of the keeper: ten seconds */

bool cw_memory_budget_is_over(const struct cw_memory_budget *budget, size_t bytes)
{
    size_t used = budget->writing + budget->frames + budget->idle;

    return used > budget->limit || bytes > budget->limit - used;
}

static struct cw_segment *take_idle(struct cw_memory_budget *budget)
{
    struct cw_segment *segment = budget->pool;

    budget->pool = segment->next;
    budget->idle -= segment->bytes;
    return segment;
}

bool cw_memory_budget_drop_segment(struct cw_memory_budget *budget, struct cw_garbage *garbage)
{
    if (!budget->pool)
        return false;
    struct cw_segment *segment = take_idle(budget);
    segment->next = garbage->segments;
    garbage->segments = segment;
    return true;
}

bool cw_memory_budget_make_room(struct cw_memory_budget *budget, size_t bytes, bool all,
                                struct cw_garbage *garbage)
{
    while (cw_memory_budget_is_over(budget, bytes)) {
        if (cw_buffer_pool_drop(budget, garbage) || cw_memory_budget_drop_segment(budget, garbage))
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

void cw_segments_free(struct cw_segment *first)
{
    while (first) {
        struct cw_segment *next = first->next;

        cw_mem_free(first->data);
        cw_mem_free(first);
        first = next;
    }
}

void cw_garbage_free(struct cw_garbage *garbage)
{
    while (garbage->spans) {
        struct cw_span *next = garbage->spans->next;

        cw_mem_free(garbage->spans->data);
        cw_mem_free(garbage->spans);
        garbage->spans = next;
    }
    cw_segments_free(garbage->segments);
    garbage->segments = NULL;
    while (garbage->pooled) {
        struct cw_pooled_buffer *next = garbage->pooled->next;

        cw_mem_free(garbage->pooled);
        garbage->pooled = next;
    }
}

static bool may_write(struct cw_memory_budget *budget, size_t bytes, struct cw_garbage *garbage)
{
    size_t limit = budget->limit / 4 * 3;

    return budget->writing <= limit && bytes <= limit - budget->writing &&
           cw_memory_budget_make_room(budget, bytes, true, garbage);
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

/* ---- segments of blocks ---- */

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

struct cw_segment *cw_segment_pool_take(struct cw_cache *cache, size_t at_least)
{
    struct cw_memory_budget *budget = &cache->budget;
    size_t bytes = CW_MAX(cache->segment_bytes, at_least);
    struct cw_segment *segment = NULL;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    if (budget->pool && bytes == cache->segment_bytes &&
        budget->writing <= budget->limit / 4 * 3 - bytes)
        segment = take_idle(budget);
    bool ok = segment || may_write(budget, bytes, &garbage);
    if (ok)
        budget->writing += bytes;
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
    if (ok && !segment && !(segment = new_segment(bytes)))
        cw_memory_budget_release(cache, bytes);
    return segment;
}

void cw_segment_pool_give(struct cw_cache *cache, struct cw_segment *first)
{
    struct cw_memory_budget *budget = &cache->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    while (first) {
        struct cw_segment *next = first->next;
        bool keep = first->bytes == cache->segment_bytes && !cw_memory_budget_is_over(budget, 0);

        budget->writing -= first->bytes;
        first->used = first->begin = 0;
        first->next = keep ? budget->pool : garbage.segments;
        if (keep) {
            budget->pool = first;
            budget->idle += first->bytes;
        } else {
            garbage.segments = first;
        }
        first = next;
    }
    cw_mutex_unlock(&budget->lock);
    cw_garbage_free(&garbage);
}

void cw_segment_pool_abandon(struct cw_cache *cache, const struct cw_segment *first)
{
    for (; first; first = first->next)
        cw_memory_budget_release(cache, first->bytes);
}

/* Once in a while: idle memory that nobody wanted since the last time goes. */
void cw_memory_budget_trim(struct cw_cache *cache)
{
    struct cw_memory_budget *budget = &cache->budget;
    struct cw_garbage garbage = {0};

    cw_mutex_lock(&budget->lock);
    budget->quiet = budget->writing || budget->busy ? 0 : budget->quiet + 1;
    budget->busy = false;
    while (budget->quiet >= QUIET_TICKS && cw_buffer_pool_drop(budget, &garbage))
        ;
    if (budget->quiet >= QUIET_TICKS) {
        garbage.segments = budget->pool;
        for (const struct cw_segment *segment = budget->pool; segment; segment = segment->next)
            budget->idle -= segment->bytes;
        budget->pool = NULL;
    }
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
    struct cw_memory_budget *budget =
        &((struct cw_cache *)(uintptr_t)cache)->budget; /* only its lock changes */

    cw_mutex_lock(&budget->lock);
    size_t used = budget->writing + budget->frames;
    cw_mutex_unlock(&budget->lock);
    return used;
}
