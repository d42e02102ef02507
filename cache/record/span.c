/* SPDX-License-Identifier: Apache-2.0 */
/* Releases spans: with the last reference the buffer of a span goes back to the pool. */
#include "cache/record/buffer_pool.h"
#include "cache/record/record_state.h"
#include "cache/record/frame_lru.h"

void cw_span_unref(struct cw_span *span)
{
    if (atomic_fetch_sub_explicit(&span->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct cw_memory_budget *budget = &span->chunk->dataset->cache->budget;
    struct cw_garbage garbage = {.spans = span};

    cw_mutex_lock(&budget->lock);
    cw_frame_lru_put(budget, span, CW_FRAMES_UNLISTED);
    cw_buffer_pool_give(budget, span->data, span->cap, &garbage);
    cw_mutex_unlock(&budget->lock);
    span->data = NULL;
    cw_garbage_free(&garbage);
}
