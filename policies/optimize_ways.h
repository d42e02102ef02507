/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of operators that are closed downwards, and the cheapest ways to them and from them to the end. */
#ifndef CW_POLICIES_OPTIMIZE_WAYS_H
#define CW_POLICIES_OPTIMIZE_WAYS_H

#include "policies/optimize_sets.h"

#define CW_OPTIMIZE_NO_OP UINT8_MAX
#define CW_OPTIMIZE_EQUAL 1e-12 /* the part by which equal sums may differ */

/* One way to a set, or from it to the end. `op` is its operator next to the other part of the order: the last one of a
 * way to a set, the first one of a way from it. There are millions, so they are small. */
struct cw_optimize_way {
    struct cw_optimize_sums sums; /* of all its operators */
    uint32_t link, next;          /* the way that it goes on with; the next one of the set */
    uint8_t op;
    uint8_t
        open; /* n + 1 if what comes next may become part of operator n, the nearest one with an effect, or that of
                      it; else 0 */
    uint8_t moved; /* operators of it that do not stand where they were written */
    bool
        is_part; /* of a way from a set: operator n is not called, since the next one does its work */
    bool in_block; /* the same: who comes before it may work on many elements at once with it */
    bool many;     /* the same of operator n */
};
/* Ways are numbered; none is number 0. */
struct cw_optimize_set {
    uint32_t to, from; /* the first of its ways, or 0 */
    double least; /* of the plans with a cache behind it, the least time or money; < 0: not known */
};
struct cw_optimize_search {
    const struct cw_optimize_problem *problem;
    const uint64_t *masks;        /* the list; borrowed */
    struct cw_optimize_set *sets; /* of the masks */
    size_t n;
    struct cw_optimize_way *ways;
    size_t ways_n, ways_cap;
    uint32_t unused;                           /* ways that are not in use, by `next` */
    uint64_t folded_by[CW_OPTIMIZE_NODES_MAX]; /* who does the work of an operator, as bits */
    uint64_t behind[CW_OPTIMIZE_NODES_MAX];    /* of the problem's nodes */
    uint64_t alone; /* operators, as bits, for which none of what follows makes a difference */
    uint64_t all;   /* operators, as bits; those without effect; */
    uint64_t idle, blocks; /* and those that make batches, or may work on many elements at once */
    uint64_t crops;        /* operators that make parts of images, as bits */
    bool is_cut;           /* some ways were cut off */
    bool is_whole;         /* it looks for plans that cache images before they are cropped */
};

/* Finds the ways of all sets of the list, which is borrowed. Without a cache only the way from the first set, the empty one, to the end is
 * looked for, and that to it. */
void cw_optimize_find_ways(struct cw_optimize_search *search,
                           const struct cw_optimize_masks *masks);
void cw_optimize_ways_fini(struct cw_optimize_search *search);

#endif
