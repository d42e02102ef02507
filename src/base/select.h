/* SPDX-License-Identifier: Apache-2.0 */
/* A set of bits that is asked for its k-th member: which of many elements were kept. Immutable; any
 * thread may ask it. */
#ifndef CW_BASE_SELECT_H
#define CW_BASE_SELECT_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_select {
    uint64_t n;      /* number of bits */
    uint64_t set_n;  /* how many of them are set */
    uint64_t *words; /* bit i is bit i % 64 of word i / 64 */
    uint64_t
        *before; /* for each block of 512 bits, and for the end, the bits that are set before it */
};
/* Makes the set of n bits: bit i is bit i % 8 of bytes[i / 8], and of `also`, unless that is NULL. Returns false
 * if there is no memory. */
bool cw_select_init(struct cw_select *select, const uint8_t *bytes, const uint8_t *also,
                    uint64_t n);
void cw_select_fini(struct cw_select *select);
/* Returns the place of the k-th bit that is set, k < set_n. */
uint64_t cw_select_at(const struct cw_select *select, uint64_t k);
/* Does the same for many, in place. It is quickest if neighbours are close. */
void cw_select_run(const struct cw_select *select, int64_t *k, size_t n);

#endif
