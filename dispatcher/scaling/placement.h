/* SPDX-License-Identifier: Apache-2.0 */
/* Workers beside the trainer: how many each client of a job is asked to start on its host, and
 * which of them are drained again. Loop thread. */
#ifndef CW_DISPATCHER_PLACING_H
#define CW_DISPATCHER_PLACING_H

#include "dispatcher/scaling/scaling.h"

/* Whether a placement policy, and which, is to decide about the job; "off" if none. */
const char *cw_placing_policy(const struct cw_job *job);
/* Workers that the job's clients would start. */
uint32_t cw_placing_most(const struct cw_job *job);
/* Whether any client would start workers, or has. */
bool cw_placing_is_used(const struct cw_dispatcher *d);
/* Asks the clients for `wanted` in all, drains those that are too many. */
void cw_placing_carry_out(struct cw_job *job, uint32_t wanted, int64_t now);
/* A local worker whose job is not known here has nothing to do. */
void cw_placing_tick(struct cw_dispatcher *d);

#endif
