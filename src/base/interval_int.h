/* SPDX-License-Identifier: Apache-2.0 */
/* What operations on two sets (interval_merge.c) take from those on one (interval.c). */
#ifndef CW_BASE_INTERVAL_INT_H
#define CW_BASE_INTERVAL_INT_H

#include "base/interval.h"

/* Returns the index of the first interval whose hi is at least x (touching counts), or set->n. */
size_t cw_set_find_touching(const struct cw_set *set, uint64_t x);
/* Replaces the intervals [from, to) by n given ones, which fit between their neighbours. */
void cw_set_splice(struct cw_set *set, size_t from, size_t to, const struct cw_interval *by,
                   size_t n);

#endif
