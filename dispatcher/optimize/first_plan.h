/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that a job's options name: an order, a profile to plan by, or a policy that plans once. They are
 * read before there is a job, so that what is wrong with them is said to who asked. A relaxed plan makes
 * another pipeline of the job's; an exact one is used when the job runs (job_optimizer.h). Any thread. */
#ifndef CW_DISPATCHER_OPTIMIZE_FIRST_PLAN_H
#define CW_DISPATCHER_OPTIMIZE_FIRST_PLAN_H

#include "base/err.h"
#include "cachew/v1/job.pb-c.h"
#include "graph/graph.h"
#include "rewrite/plan_file.h"

/* Checks options->optimize, relaxed, plan and profile for this pipeline. Sets *ret_graph to the pipeline that the job
 * has instead, because nodes stand for others (graph/expand.h) or are in a relaxed order; NULL: it keeps its own. */
int cw_first_plan_make(const Cachew__V1__JobOptions *options, struct cw_graph *graph,
                       struct cw_graph **ret_graph, struct cw_err *err);
/* Reads the text of an option `plan`. */
int cw_first_plan_read(const char *text, struct cw_order_plan *ret_plan, struct cw_err *err);
/* Checks the text of an option `optimize`. */
int cw_first_plan_check_policy(const char *policy, struct cw_err *err);

#endif
