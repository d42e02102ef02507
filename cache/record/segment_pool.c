/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of segments that no write buffer uses. They are kept for later buffers while the budget
 * allows: fresh memory costs page faults, which take as long as copying. */
#include "cache/record/record_state.h"

struct cw_segment *cw_segment_pool_pop(struct cw_memory_budget *budget)
{
    struct cw_segment *segment = budget->pool;

    if (segment) {
        budget->pool = segment->next;
        budget->idle -= segment->bytes;
    }
    return segment;
}

void cw_segment_pool_push(struct cw_memory_budget *budget, struct cw_segment *segment)
{
    segment->next = budget->pool;
    budget->pool = segment;
    budget->idle += segment->bytes;
}

bool cw_segment_pool_drop(struct cw_memory_budget *budget, struct cw_garbage *garbage)
{
    struct cw_segment *segment = cw_segment_pool_pop(budget);

    if (!segment)
        return false;
    segment->next = garbage->segments;
    garbage->segments = segment;
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
