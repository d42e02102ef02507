/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the search for a job's plan (plan_search.h) share. */
#ifndef CW_DISPATCHER_OPTIMIZE_PLAN_SEARCH_INT_H
#define CW_DISPATCHER_OPTIMIZE_PLAN_SEARCH_INT_H

#include "dispatcher/optimize/plan_search.h"
#include "rewrite/problem.h"

/* Places are those of the present order, unless said otherwise. */
struct cw_plan_work {
    const struct cw_plan_question *question;
    struct cw_plan_answer *answer;
    struct cw_checked *job; /* its pipeline as it is written */
    /* That, and the present one. Operators of a zip's branches may stand behind it in both (rewrite/hoist.h). */
    struct cw_checked *written, *present;
    struct cw_checked *plan; /* the present one with its branches as they are computed and cached */
    struct cw_chain was, is; /* the chain as written, and at present */
    size_t at[CW_OPTIMIZE_NODES_MAX]; /* the written place of each node */
    struct cw_cost_profile profile;
    struct cw_optimize_problem problem;
    struct cw_problem_map map;
    struct cw_optimize_plan now;
    struct cw_optimizer_plan found;
    struct cw_optimize_plan then; /* `found` with the present workers */
};

/* ---- plan_numbers.c ---- */
/* Returns the place of a node in a graph; the number of its nodes if there is none of this name. */
size_t cw_plan_node(const struct cw_checked *checked, const char *name);
/* Makes the problem of the question. */
int cw_plan_numbers(struct cw_plan_work *w, struct cw_err *err);
/* Returns the place of a cache at a node of a zip's branch, as plans have it (cache_after); CW_OPTIMIZE_NO_CACHE: none can
 * be there. */
size_t cw_plan_branch(const struct cw_plan_work *w, const char *node);
/* Returns the place of the present order behind which elements are cached, as far as the plan says so. */
size_t cw_plan_cached_now(const struct cw_plan_work *w);

#endif
