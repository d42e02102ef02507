/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of 64-bit numbers as sorted, disjoint, non-touching half-open intervals [lo, hi), in an array
 * that has room at both ends. Zero-initialise.
 *
 * What a peer says decides how many intervals a set has and in which order they change, so no
 * function here takes more time than the intervals it is given and those it changes, with two
 * exceptions that are small: finding one is a binary search, and a change in the middle moves the
 * shorter side (16 bytes an interval). With n and m intervals, operations on two sets cost the
 * lesser of O(n + m) and m single changes. */
#ifndef CW_BASE_INTERVAL_H
#define CW_BASE_INTERVAL_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_interval {
    uint64_t lo, hi;
};
struct cw_set {
    struct cw_interval *v; /* Readers may use v[0] to v[n - 1]. */
    size_t n;
    size_t front, cap; /* The block begins `front` intervals before v and has room for `cap`. */
    uint64_t count;    /* How many numbers there are in the set. */
};
void cw_set_fini(struct cw_set *set);
void cw_set_clear(struct cw_set *set);
void cw_set_add(struct cw_set *set, uint64_t lo, uint64_t hi);
/* Adds an interval that begins no lower than the last one of the set does: O(1). */
void cw_set_push(struct cw_set *set, uint64_t lo, uint64_t hi);
void cw_set_remove(struct cw_set *set, uint64_t lo, uint64_t hi);
void cw_set_add_all(struct cw_set *set, const struct cw_set *other);
/* Removes from the set whatever is in the other one. */
void cw_set_remove_all(struct cw_set *set, const struct cw_set *other);
/* Removes from the set whatever is not in the other one. */
void cw_set_intersect(struct cw_set *set, const struct cw_set *other);
void cw_set_copy(struct cw_set *set, const struct cw_set *other);
bool cw_set_has(const struct cw_set *set, uint64_t x);
bool cw_set_has_range(const struct cw_set *set, uint64_t lo, uint64_t hi);
uint64_t cw_set_count(const struct cw_set *set);
/* Returns how many numbers of [lo, hi) are in the set. */
uint64_t cw_set_count_range(const struct cw_set *set, uint64_t lo, uint64_t hi);
/* Returns the lowest number >= from that is not in the set. */
uint64_t cw_set_first_absent(const struct cw_set *set, uint64_t from);
/* Finds the lowest number >= from in the set; returns false if there is none. */
bool cw_set_first_present(const struct cw_set *set, uint64_t from, uint64_t *ret);
/* Returns the index of the first interval that ends above x, or set->n. */
size_t cw_set_find(const struct cw_set *set, uint64_t x);
bool cw_set_eq(const struct cw_set *a, const struct cw_set *b);

#endif
