/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the plans of running jobs by what was measured of them. When it looks, and what is worth a
 * change, is said by policies/replan.h; plan_search.h finds the plan on a thread, plan_change.h has the
 * workers use it, and plan_profiles.c keeps what was measured for the next job of the pipeline. Loop
 * thread. */
#ifndef CW_DISPATCHER_OPTIMIZE_JOB_OPTIMIZER_H
#define CW_DISPATCHER_OPTIMIZE_JOB_OPTIMIZER_H

#include "dispatcher/model/model.h"

/* Looks whether a plan is to be made, takes one that was found, and records one that is used. */
void cw_job_optimizer_tick(struct cw_job *job, int64_t now);
/* The job keeps the plan that somebody named: nobody plans for it from now on. */
void cw_job_optimizer_stop(struct cw_job *job);
void cw_job_optimizer_free(struct cw_job *job);

/* ---- plan_profiles.c ---- */
/* Reads what was measured of pipelines. */
int cw_job_optimizers_restore(struct cw_dispatcher *d, struct cw_err *err);
void cw_job_optimizers_close(struct cw_dispatcher *d);
/* Returns what an earlier job of this pipeline and tenant has measured, as a profile in JSON; NULL: there
 * is none. */
const char *cw_plan_profile_of(const struct cw_job *job);
void cw_plan_profile_put(const struct cw_job *job, const char *profile);

#endif
