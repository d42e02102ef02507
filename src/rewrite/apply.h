/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out a plan: gives the graph of another order that gives the same batches, bit for bit, or that of
 * a relaxed plan, which gives batches of the same types and shapes. */
#ifndef CW_REWRITE_APPLY_H
#define CW_REWRITE_APPLY_H

#include "graph/check.h"
#include "rewrite/plan_file.h"

struct cw_rewritten {
    /* The pinned nodes in the plan's order, with their names; it has its own fingerprint. */
    struct cw_checked *checked;
    size_t cache;         /* the node behind which the plan has a cache; SIZE_MAX: none */
    const char *no_cache; /* why nothing can be cached there; NULL: it can, or none is wanted */
};

/* Rewrites a pipeline by a plan. It is a function of both. INVALID: the plan lacks a node, has one twice or
 * one that is not there; or its order is not exact, or not even relaxed if the plan is: the message names two
 * nodes and why they may not change sides. */
int cw_rewrite(const struct cw_checked *written, const struct cw_order_plan *plan,
               struct cw_rewritten *ret_rewritten, struct cw_err *err);
void cw_rewritten_fini(struct cw_rewritten *rewritten);

#endif
