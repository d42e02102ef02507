/* SPDX-License-Identifier: Apache-2.0 */
/* Shared-memory slots that the trainer has released and that wait to be sent back to the worker of
 * one connection. The trainer releases batches in any thread; the loop thread takes the slots that
 * have gathered. Every buffer that the trainer holds has a reference to the queue, so the queue
 * outlives the connection as long as necessary. */
#ifndef CW_CLIENT_TRANSPORT_SHM_RELEASE_QUEUE_H
#define CW_CLIENT_TRANSPORT_SHM_RELEASE_QUEUE_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_shm_release_queue;
/* wake(arg) is called when enough slots have gathered. The call is made in whatever thread released
 * the last slot, under the queue's lock, so it may only post to the loop. */
typedef void cw_shm_release_wake_fn(void *arg);
struct cw_shm_release_queue *cw_shm_release_queue_new(cw_shm_release_wake_fn *wake,
                                                      void *arg) CW_MUST_CHECK;
struct cw_shm_release_queue *cw_shm_release_queue_ref(struct cw_shm_release_queue *queue);
/* Drops a reference. NULL is accepted. */
void cw_shm_release_queue_unref(struct cw_shm_release_queue *queue);
/* Returns a slot that is free again. It is the callback of a buffer in shared memory
 * (cw_shm_released_fn), and drops the buffer's reference to the queue. Any thread may call it. */
void cw_shm_release_queue_add(void *queue, uint64_t slot);
/* From now on the loop is woken for each slot, and not only when several have gathered. This is for
 * large slots, which hold much of the worker's memory. */
void cw_shm_release_queue_set_prompt(struct cw_shm_release_queue *queue);
/* Takes all slots if there are enough to be worth a message, or with `all` if there are any.
 * Returns their number; the caller frees *ret_slots. */
size_t cw_shm_release_queue_take(struct cw_shm_release_queue *queue, bool all,
                                 uint64_t **ret_slots);
/* The connection is over: nothing is sent back any more, and wake is not called again. Drops the
 * reference of cw_shm_release_queue_new. It accepts NULL. */
void cw_shm_release_queue_close(struct cw_shm_release_queue *queue);

#endif
