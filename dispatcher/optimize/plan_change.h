/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of running jobs: another order of a job's operators, which gives the same batches. A plan is
 * checked, tried by one worker, stored, and then used by all workers at once. Somebody names it
 * (`cachew replan`), or it is found by what was measured (job_optimizer.h). Loop thread. */
#ifndef CW_DISPATCHER_OPTIMIZE_PLAN_CHANGE_H
#define CW_DISPATCHER_OPTIMIZE_PLAN_CHANGE_H

#include "dispatcher/model/model.h"

/* Begins to change the job's plan; graph NULL: to the written order. Sets *ret_number to the plan's
 * number. INVALID: the graph is no such order, or was dropped before; UNSUPPORTED: the job's workers are
 * too old; STATE: the job does not run, or another plan is on its way. A plan that no worker tries yet
 * is replaced. */
int cw_job_plan_propose(struct cw_job *job, const Cachew__V1__Graph *graph, uint64_t *ret_number,
                        struct cw_err *err);
/* A plan that was made of the job's own graph by rewrite/apply.h, so its order is known to be allowed. All
 * is borrowed. */
struct cw_job_plan_made {
    struct cw_buf *graph; /* packed; NULL: the written order */
    bool decides_cache;   /* it also says what is cached, else the policies of autocache/ do */
    const char *cached;   /* the node whose elements are; NULL: none */
};
/* The same with such a plan. */
int cw_job_plan_propose_made(struct cw_job *job, struct cw_job_plan_made made, uint64_t *ret_number,
                             struct cw_err *err);
/* Has the plan that is used say that this node's elements are cached (NULL: none), and no policy any more.
 * Returns false if they cannot be, or no worker has told the plan's keys yet. */
bool cw_job_plan_set_cached(struct cw_job *job, const char *node);
/* Takes a worker's answer. */
void cw_job_plan_opened(struct cw_worker *worker, const Cachew__V1__PlanOpened *opened);
/* Returns whether a worker of the job knows plans, or it has none so far. */
bool cw_job_plan_is_known(const struct cw_job *job);
/* Has another worker try the plan if the one that did is gone. Drops the plan if it was tried by
 * CW_PLAN_TRIES_MAX workers, or all workers of the job are too old to try it. */
void cw_job_plan_tick(struct cw_job *job);
/* Has workers use the plans that are stored. */
void cw_job_plans_use_stored(struct cw_dispatcher *d);
void cw_job_plan_restore(struct cw_job *job, uint64_t number, const void *graph, size_t n);
void cw_job_plan_free(struct cw_job *job);

#endif
