/* SPDX-License-Identifier: Apache-2.0 */
/* What the exec threads did for each job, or what they waited for (base/thread_use.h).
 *
 * What threads do in a job's items is measured by exec. Idle threads do nothing for any job: their
 * time is counted for each job with what that job waits for at that moment. So with one job all uses
 * add up to the time of all threads, and with several the idle time counts for each of them. Loop
 * thread. */
#ifndef CW_WORKER_COMPUTE_THREAD_USE_COUNT_H
#define CW_WORKER_COMPUTE_THREAD_USE_COUNT_H

#include "worker/model/state.h"

/* Finds out what each job waits for now. To be called when items were submitted, and when a job's
 * state has changed. Reads the clock only if a job waits for something else than before. */
void cw_wthread_use_look(struct cw_worker_state *w);
/* Brings job->threads.total of all jobs up to date. */
void cw_wthread_use_count(struct cw_worker_state *w);
/* Divides the time of threads within a job's items since the last count: `spent` is what exec
 * measured, delay_ns the job's part of the time without a CPU. For tests. */
void cw_wthread_use_divide(const struct cw_exec_plan_time *spent, double delay_ns,
                           struct cw_thread_use *total);

#endif
