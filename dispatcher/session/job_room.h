/* SPDX-License-Identifier: Apache-2.0 */
/* Room for a new job (--max-jobs, --max-jobs-bytes). */
#ifndef CW_DISPATCHER_SESSION_JOB_ROOM_H
#define CW_DISPATCHER_SESSION_JOB_ROOM_H

#include "dispatcher/model/model.h"

/* Returns 0 if there is room for one more job whose pipeline takes so many bytes, and removes jobs that are over
 * where it is needed for that; LIMIT if there is none. Called last of what may refuse a job, so that one that is
 * refused removes none. */
int cw_job_room_make(struct cw_dispatcher *d, size_t bytes, struct cw_err *err);

#endif
