/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a store, for those who carry them out (io_pool.c). What the rest of the store may do with
 * jobs is declared in store_state.h. */
#ifndef CW_CACHE_STORE_IO_JOB_H
#define CW_CACHE_STORE_IO_JOB_H

#include "cache/store/store_state.h"

/* ---- with the store's lock held ---- */
void cw_store_queue_push(struct cw_store_queue *queue, struct cw_store_job *job);
/* Removes the first job of the queue, which is not empty. */
void cw_store_queue_pop(struct cw_store_queue *queue);
/* Returns how many pieces of the job no I/O thread has taken yet; a call counts as one. */
unsigned cw_store_job_pieces_left(const struct cw_store_job *job);
/* Whether the job is in one of the queues: no thread has taken it, or not all of its pieces. */
bool cw_store_job_is_queued(const struct cw_store_job *job);
/* Ends the job with result rc. Threads that are still inside will find that it has ended. A caller
 * without a reference of its own may not use the job afterwards. */
void cw_store_job_end_locked(struct cw_store_job *job, int rc);
/* Notifies whoever waits for the job that it has ended, and gives up the reference of
 * cw_store_job_start. Gives up the lock while it calls done. */
void cw_store_job_notify_locked(struct cw_store_job *job);

/* ---- without the lock ---- */
/* Gives up a reference. on_io_thread: the caller is an I/O thread, which may block. */
void cw_store_job_unref_on(struct cw_store_job *job, bool on_io_thread);
/* The call of a job that tries whether the storage answers. */
int cw_store_call_try(struct cw_store_job *job);

#endif
