/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when the next Progress message is due; session/report.c sends it. Loop thread. */
#ifndef CW_WORKER_MESSAGE_REPORT_TIMER_H
#define CW_WORKER_MESSAGE_REPORT_TIMER_H

#include "worker/model/state.h"

/* Makes a report due within so many milliseconds, unless one is due earlier. */
void cw_report_within(struct cw_worker_state *w, int64_t ms);
/* Makes a report due soon, because something worth reporting has happened. */
void cw_report_soon(struct cw_worker_state *w);
/* Sets how long completed items may be gathered before they are reported, in ms; 0 = the default. A
 * worker that has little left to compute reports earlier. */
void cw_report_gather(struct cw_worker_state *w, uint32_t ms);
/* Notes that so many elements of the job were computed in so many ns of threads. Returns true once, when
 * it is enough for decisions about the job: then its first counters are due, before the next second. */
bool cw_report_counts_are_due(struct cw_wjob *job, uint64_t elements, int64_t ns);
/* Counts a finished task, and makes a report due. */
void cw_report_done(struct cw_worker_state *w, struct cw_wepoch *epoch,
                    const struct cw_wtask *task);

#endif
