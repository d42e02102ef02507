/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the search for a job's plan (plan_search.h): the numbers of the job, its cache and its
 * workers, as they are now. Loop thread. */
#ifndef CW_DISPATCHER_OPTIMIZE_PLAN_QUESTION_H
#define CW_DISPATCHER_OPTIMIZE_PLAN_QUESTION_H

#include "dispatcher/model/model.h"
#include "dispatcher/optimize/plan_search.h"

#define CW_PLAN_TIMED_MIN 4 /* calls of a node, before its cost is believed */

/* Returns what a node has cost under the present plan. Where that reads from a cache, what stands before
 * the cache is not computed any more: then it is what the node has cost before. */
struct cw_cost_measured cw_plan_cost_of(const struct cw_job *job, size_t node);
/* Makes the search for a job's plan by a policy of --optimize. profile: what an earlier job has measured; NULL: what this one has.
 * may_cache: the plan may say what is cached. Free it with cw_plan_search_free. */
struct cw_plan_search *cw_plan_question_make(struct cw_job *job, const char *policy,
                                             const char *profile, bool may_cache);
/* The same by what operators of other pipelines have cost (operator_costs.h). */
struct cw_plan_search *cw_plan_question_make_by_operators(struct cw_job *job, const char *policy,
                                                          bool may_cache);
/* Sets what the plan of the job has to go by besides costs. */
void cw_plan_means(struct cw_job *job, bool may_cache, struct cw_replan_means *ret_means);

#endif
