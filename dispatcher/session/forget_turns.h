/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that a worker holds and that are not known here: it is told to drop them. A worker that was away
 * for long may hold very many, so it is told of some in each iteration of the loop. Loop thread. */
#ifndef CW_DISPATCHER_SESSION_FORGET_TURNS_H
#define CW_DISPATCHER_SESSION_FORGET_TURNS_H

#include "dispatcher/model/model.h"

/* Tells the worker to drop the job, at once or later. It may be named several times. */
void cw_forget_turns_add(struct cw_worker *worker, const char *job_id);

#endif
