/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of 64-bit numbers as sorted, disjoint, non-touching half-open intervals [lo, hi). Add and
 * remove cost O(log n) to find and O(n) to move; sets here have few intervals. Zero-initialise. */
#ifndef CW_BASE_INTERVAL_H
#define CW_BASE_INTERVAL_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_interval {
    uint64_t lo, hi;
};
struct cw_set {
    struct cw_interval *v;
    size_t n, cap;
};
void cw_set_fini(struct cw_set *set);
void cw_set_clear(struct cw_set *set);
void cw_set_add(struct cw_set *set, uint64_t lo, uint64_t hi);
void cw_set_remove(struct cw_set *set, uint64_t lo, uint64_t hi);
void cw_set_add_all(struct cw_set *set, const struct cw_set *other);
/* Removes from the set whatever is not in the other one. */
void cw_set_intersect(struct cw_set *set, const struct cw_set *other);
void cw_set_copy(struct cw_set *set, const struct cw_set *other);
bool cw_set_has(const struct cw_set *set, uint64_t x);
bool cw_set_has_range(const struct cw_set *set, uint64_t lo, uint64_t hi);
uint64_t cw_set_count(const struct cw_set *set);
/* Returns the lowest number >= from that is not in the set. */
uint64_t cw_set_first_absent(const struct cw_set *set, uint64_t from);
/* Finds the lowest number >= from in the set; returns false if there is none. */
bool cw_set_first_present(const struct cw_set *set, uint64_t from, uint64_t *ret);
bool cw_set_eq(const struct cw_set *a, const struct cw_set *b);

#endif
