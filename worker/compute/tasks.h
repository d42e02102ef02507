/* SPDX-License-Identifier: Apache-2.0 */
/* Begins leased items within the budget, and collects those that exec has finished. Loop thread. */
#ifndef CW_WORKER_COMPUTE_TASKS_H
#define CW_WORKER_COMPUTE_TASKS_H

#include "worker/model/state.h"

/* Begins as many items as threads and memory allow. Called whenever that may have changed. */
void cw_tasks_pump(struct cw_worker_state *w);
/* Collects finished tasks: counts them, and queues their outputs. */
void cw_tasks_collect(struct cw_worker_state *w);
/* Cancels the items [lo, hi) of the epoch. */
/* Has rows of the job's items that are not begun be computed by job->plan. */
void cw_tasks_replan(struct cw_wjob *job);
void cw_tasks_revoke(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items);
/* Cancels all items of the job. Returns true if no other job waits for one of them. */
bool cw_tasks_cancel_all(struct cw_wjob *job);

#endif
