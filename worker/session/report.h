/* SPDX-License-Identifier: Apache-2.0 */
/* Progress messages, and the heartbeat. Loop thread. */
#ifndef CW_WORKER_SESSION_REPORT_H
#define CW_WORKER_SESSION_REPORT_H

#include "worker/model/state.h"

void cw_report_start(struct cw_worker_state *w);
void cw_report_stop(struct cw_worker_state *w);
/* Begins the heartbeat, after the dispatcher has welcomed this worker. */
void cw_report_attached(struct cw_worker_state *w);
/* Called when the stream to the dispatcher has ended. */
void cw_report_detached(struct cw_worker_state *w);
/* Sends a Progress message now, or a moment later if one was sent just now. */
void cw_report_now(struct cw_worker_state *w);

#endif
