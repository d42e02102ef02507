/* SPDX-License-Identifier: Apache-2.0 */
/* Shared-memory slots that the trainer gave back, from whatever thread, on their way to the
 * worker of one connection. Refcounted: every buffer that is out has a reference, so it outlives
 * the connection for as long as it must. */
#ifndef CW_CLIENT_SHM_RELEASE_QUEUE_H
#define CW_CLIENT_SHM_RELEASE_QUEUE_H

#include <stdbool.h>
#include "base/compiler.h"

struct cachew_job;
struct cw_slots;
struct cw_slots *cw_slots_new(struct cachew_job *job) CW_MUST_CHECK;
struct cw_slots *cw_slots_ref(struct cw_slots *slots);
void cw_slots_unref(struct cw_slots *slots);
/* cw_shm_released_fn: `slots` is free again; drops a reference. Any thread. */
void cw_slots_released(void *slots, uint64_t slot);
/* From now on the loop is woken for every slot, not only when some have gathered: they are
 * large, and hold the worker's memory. */
void cw_slots_set_prompt(struct cw_slots *slots);
/* Takes what has gathered, if it is enough to be sent (or `all`). The caller frees *ret_back. */
size_t cw_slots_take(struct cw_slots *slots, bool all, uint64_t **ret_back);
/* The connection is over: nobody is told any more. Drops the reference of cw_slots_new. Accepts
 * NULL. */
void cw_slots_close(struct cw_slots *slots);

#endif
