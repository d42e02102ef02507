/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of merges that could be made, the first in order on top. Its memory is the caller's. */
#ifndef CW_OPS_TEXT_CANDIDATES_H
#define CW_OPS_TEXT_CANDIDATES_H

#include "base/compiler.h"

struct cw_candidate {
    uint64_t order;
    uint32_t a, b; /* what the caller needs to know of it */
};
struct cw_candidates {
    struct cw_candidate *heap;
    size_t n;
};

void cw_candidates_push(struct cw_candidates *candidates, struct cw_candidate candidate);
/* Takes the first one; there must be one. */
struct cw_candidate cw_candidates_pop(struct cw_candidates *candidates);

#endif
