/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job on this worker, from its JobSpec to its Forget. Loop thread. */
#ifndef CW_WORKER_JOB_JOB_LIFE_H
#define CW_WORKER_JOB_JOB_LIFE_H

#include "cachew/v1/fleet.pb-c.h"
#include "worker/model/state.h"

/* Carries out a JobSpec. Returns NULL, or a text that says why the message is not valid. */
const char *cw_wjob_add(struct cw_worker_state *w, const Cachew__V1__JobSpec *spec);
/* Removes the job. It is freed when exec has given back its last item. reason: for the log, or
 * NULL. */
void cw_wjob_forget(struct cw_wjob *job, const char *reason);
/* Carries out a Lease message. */
void cw_wjob_leased(struct cw_wjob *job, const Cachew__V1__Lease *lease,
                    const struct cw_set *items);
/* Called when its plan was opened (the plan is taken), or could not be: then plan is NULL, and
 * error says why. */
void cw_wjob_opened(struct cw_wjob *job, struct cw_plan *plan, const struct cw_err *error);
/* Sets the job's weight among the jobs on this worker; 0 means 1. */
void cw_wjob_set_weight(struct cw_wjob *job, double part);
/* Hands all pending items back to the dispatcher. */
void cw_wjob_hand_back(struct cw_wjob *job);

#endif
