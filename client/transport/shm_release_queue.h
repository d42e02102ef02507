/* SPDX-License-Identifier: Apache-2.0 */
/* Shared-memory slots that the trainer has released, waiting to be sent back to the worker of one
 * connection. The trainer releases batches in any thread; the loop thread takes what has
 * gathered. Refcounted: every buffer that the trainer holds has a reference, so the queue
 * outlives the connection for as long as it must. */
#ifndef CW_CLIENT_TRANSPORT_SHM_RELEASE_QUEUE_H
#define CW_CLIENT_TRANSPORT_SHM_RELEASE_QUEUE_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_shm_release_queue;
/* wake(arg) is called when enough slots have gathered, in whatever thread released the last one,
 * under the queue's lock: it may do no more than post to the loop. */
typedef void cw_shm_release_wake_fn(void *arg);
struct cw_shm_release_queue *cw_shm_release_queue_new(cw_shm_release_wake_fn *wake,
                                                      void *arg) CW_MUST_CHECK;
struct cw_shm_release_queue *cw_shm_release_queue_ref(struct cw_shm_release_queue *queue);
void cw_shm_release_queue_unref(struct cw_shm_release_queue *queue); /* accepts NULL */
/* The callback of a buffer in shared memory (cw_shm_released_fn): its slot is free again. Drops
 * the buffer's reference to the queue. Any thread. */
void cw_shm_release_queue_add(void *queue, uint64_t slot);
/* From now on the loop is woken for every slot, not only when some have gathered: for large
 * slots, which hold much of the worker's memory. */
void cw_shm_release_queue_set_prompt(struct cw_shm_release_queue *queue);
/* Takes all slots if there are enough to be worth a message (or any, if `all`). Returns how many;
 * the caller frees *ret_slots. */
size_t cw_shm_release_queue_take(struct cw_shm_release_queue *queue, bool all,
                                 uint64_t **ret_slots);
/* The connection is over: nothing is sent back any more, and wake is not called again. Drops the
 * reference of cw_shm_release_queue_new. Accepts NULL. */
void cw_shm_release_queue_close(struct cw_shm_release_queue *queue);

#endif
