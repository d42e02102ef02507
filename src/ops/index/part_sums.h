/* SPDX-License-Identifier: Apache-2.0 */
/* How many parts each of many elements has, asked for the k-th part of them all: a survey's number for each
 * element, and a sum for each block of elements. Immutable; any thread may ask it. */
#ifndef CW_OPS_INDEX_PART_SUMS_H
#define CW_OPS_INDEX_PART_SUMS_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_part_sums {
    uint64_t n;     /* number of elements */
    uint64_t all;   /* number of their parts */
    unsigned width; /* bytes of a number: 1, 2 or 4 */
    uint8_t *parts; /* n numbers of parts */
    uint64_t
        *before; /* for each block of elements, and for the end, the parts that come before it */
};
/* parts: of each of n elements, at most UINT32_MAX. bad: elements whose bit is set have one part instead; NULL:
 * there are none. Returns false if there is no memory. */
bool cw_part_sums_init(struct cw_part_sums *sums, const uint64_t *parts, const uint8_t *bad,
                       uint64_t n);
void cw_part_sums_fini(struct cw_part_sums *sums);
/* Returns the element that part k < all is of, and which of its parts it is. */
uint64_t cw_part_sums_at(const struct cw_part_sums *sums, uint64_t k, uint64_t *ret_part);

#endif
