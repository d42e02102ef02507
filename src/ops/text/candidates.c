/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/candidates.h"

void cw_candidates_push(struct cw_candidates *candidates, struct cw_candidate candidate)
{
    size_t i = candidates->n++;
    for (; i > 0 && candidates->heap[(i - 1) / 2].order > candidate.order; i = (i - 1) / 2)
        candidates->heap[i] = candidates->heap[(i - 1) / 2];
    candidates->heap[i] = candidate;
}

struct cw_candidate cw_candidates_pop(struct cw_candidates *candidates)
{
    const struct cw_candidate top = candidates->heap[0], last = candidates->heap[--candidates->n];
    size_t i = 0;
    for (size_t child = 1; child < candidates->n; child = 2 * i + 1) {
        if (child + 1 < candidates->n &&
            candidates->heap[child + 1].order < candidates->heap[child].order)
            child++;
        if (candidates->heap[child].order >= last.order)
            break;
        candidates->heap[i] = candidates->heap[child];
        i = child;
    }
    candidates->heap[i] = last;
    return top;
}
