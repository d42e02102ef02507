/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of cedar's optimizer (cedar.h) share. */
#ifndef CW_POLICIES_CEDAR_INT_H
#define CW_POLICIES_CEDAR_INT_H

#include "policies/cedar.h"

/* What runs elsewhere and what is cached; places are those of the order. */
struct cw_cedar_placed {
    uint64_t moved; /* bit i: the operator at place i runs on the backend */
    enum cw_cedar_backend backend;
    const struct cw_cedar_offload *groups; /* those of several operators are fused */
    size_t groups_n;
    bool has_cache;
    size_t cache_after;
};
/* The model's view of a chain in one order. */
struct cw_cedar_view {
    const struct cw_cedar_chain *chain;
    const size_t *order;
};
/* Milliseconds of an operator on one core, in the written order. */
double cw_cedar_base_ms(const struct cw_cedar_chain *chain, size_t op);
/* Milliseconds of an element in this order; placed NULL: everything in the trainer's process. */
double cw_cedar_cost(const struct cw_cedar_view *view, const struct cw_cedar_placed *placed);
/* The bytes that go into and come out of the operator at a place of the order. */
double cw_cedar_in_bytes(const struct cw_cedar_view *view, size_t place);
double cw_cedar_out_bytes(const struct cw_cedar_view *view, size_t place);

/* For each place of the chain, the places that it may not change sides with, as bits. */
void cw_cedar_walls(const struct cw_cedar_chain *chain, uint64_t ret_walls[CW_CEDAR_OPS_MAX]);
/* Finds the cheapest order. */
void cw_cedar_find_order(const struct cw_cedar_chain *chain, struct cw_cedar_plan *plan);
/* Enumerates all orders as cedar does and takes the first that is cheapest. Returns false if there is
 * too much to look at. */
bool cw_cedar_enumerate(const struct cw_cedar_chain *chain, const uint64_t *walls,
                        size_t *ret_order);

/* Decides what runs on the backend, into plan->offloads; what it saves is not added up. */
void cw_cedar_find_offloads(const struct cw_cedar_chain *chain,
                            const struct cw_cedar_options *options, struct cw_cedar_plan *plan);

#endif
