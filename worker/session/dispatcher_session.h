/* SPDX-License-Identifier: Apache-2.0 */
/* The session with the dispatcher. Loop thread. */
#ifndef CW_WORKER_SESSION_DISPATCHER_SESSION_H
#define CW_WORKER_SESSION_DISPATCHER_SESSION_H

#include "worker/model/state.h"

/* Begins to connect to the dispatcher, and tries again for ever. */
void cw_wsession_start(struct cw_worker_state *w);
/* Ends the stream. After a drain the messages that are queued are still sent. */
void cw_wsession_stop(struct cw_worker_state *w);

#endif
