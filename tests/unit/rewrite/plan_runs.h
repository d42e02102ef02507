/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines, and what comes out of them, in another order. */
#ifndef CW_TESTS_UNIT_REWRITE_PLAN_RUNS_H
#define CW_TESTS_UNIT_REWRITE_PLAN_RUNS_H

#include "base/hash.h"
#include "exec/exec.h"
#include "rewrite/apply.h"

/* Checks a graph; the graph is given up. Fails the test when it is refused. */
struct cw_checked *checked_of(struct cw_graph *graph);
/* What comes out in one epoch: the fields' names, dtypes, shapes and bytes, items in order; an item that
 * fails counts as one that fails, whatever the message. How many bad elements were left out does not
 * count. */
struct cw_hash hash_of(struct cw_checked *checked, enum cw_bad_elements bad);
/* The same by item. */
struct outcome {
    size_t n;
    bool *ok;
    struct cw_hash *hashes; /* of the items that did not fail */
};
struct outcome outcome_of(struct cw_checked *checked, enum cw_bad_elements bad);
/* The same of a plan that is opened beside the written pipeline, as workers do; the test fails if it is refused. */
struct outcome outcome_beside(struct cw_checked *written, struct cw_checked *checked,
                              enum cw_bad_elements bad);
void outcome_fini(struct outcome *outcome);
/* Whether each item that came out came out the same again; one that failed need not fail again, since a
 * filter may leave out what failed before it comes to that. */
bool outcome_is(const struct outcome *was, const struct outcome *is);
/* A plan of a blank-separated list of names. */
void plan_from(const char *names, struct cw_order_plan *ret_plan);

#endif
