/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of operators that are closed downwards, and the cheapest ways to them and from them to the end. */
#ifndef CW_POLICIES_OPTIMIZE_WAYS_H
#define CW_POLICIES_OPTIMIZE_WAYS_H

#include "base/map.h"
#include "policies/optimize_int.h"

#define CW_OPTIMIZE_NO_OP UINT8_MAX
#define CW_OPTIMIZE_EQUAL 1e-12 /* the part by which equal sums may differ */

/* One way to a set, or from it to the end. `end` is its operator next to the other part of the order: the last one
 * of a way to a set, the first one of a way from it. */
struct cw_optimize_way {
    struct cw_optimize_sums rest, end; /* of its other operators; of `op` */
    uint32_t link;                     /* the way that it goes on with */
    uint8_t op, moved; /* moved: operators of it that do not stand where they were written */
    uint8_t open;      /* op + 1 if what comes next may become part of it, or it of that; else 0 */
    bool is_part;  /* of a way from a set: `op` is not called, since the next one does its work */
    bool in_block; /* the same: who comes before it may work on many elements at once with it */
};
struct cw_optimize_ways {
    uint32_t first, n;
};
struct cw_optimize_set {
    uint64_t mask;
    struct cw_optimize_ways to, from;
};
struct cw_optimize_search {
    const struct cw_optimize_problem *problem;
    struct cw_optimize_set *sets;
    size_t n, cap;
    struct cw_map places; /* key_of(mask) -> place + 1 */
    struct cw_optimize_way *ways;
    size_t ways_n, ways_cap;
    uint64_t folded_by[CW_OPTIMIZE_NODES_MAX]; /* who does the work of an operator, as bits */
    bool is_cut;                               /* some ways were cut off */
    bool is_whole; /* it looks for plans that cache images before they are cropped */
};

static inline uint64_t cw_optimize_bit(size_t i)
{
    return UINT64_C(1) << i;
}
struct cw_optimize_sums cw_optimize_way_sums(const struct cw_optimize_way *way);
/* What comes out of a set. */
struct cw_optimize_flow cw_optimize_flow_behind(const struct cw_optimize_search *search,
                                                uint64_t mask);
/* Finds all sets, smaller ones first, with their ways; returns false if there are too many. Without a cache only the
 * way from the first set, the empty one, to the end is looked for, and that to it. */
bool cw_optimize_find_ways(struct cw_optimize_search *search);
void cw_optimize_ways_fini(struct cw_optimize_search *search);

#endif
