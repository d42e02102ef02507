/* SPDX-License-Identifier: Apache-2.0 */
/* The plan by which a job's rows are computed, while the job runs. Loop thread. */
#ifndef CW_WORKER_JOB_JOB_PLAN_H
#define CW_WORKER_JOB_JOB_PLAN_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Takes a JobPlan. Returns what is wrong with the message, or NULL. */
const char *cw_wjob_plan_given(struct cw_worker_state *w, const Cachew__V1__JobPlan *message);
/* Opens the plan that came before the job's sources were open. */
void cw_wjob_plan_begin(struct cw_wjob *job);
/* Takes a plan that was opened beside the written one, or NULL and the error. */
void cw_wjob_plan_opened(struct cw_wjob *job, struct cw_plan *plan, const struct cw_err *error);
void cw_wjob_plan_free(struct cw_wjob *job);

#endif
