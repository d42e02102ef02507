/* SPDX-License-Identifier: Apache-2.0 */
/* Work for a thread beside the loop: what would hold the loop up for too long. One thread does it,
 * in the order in which it was added, and the loop then takes the result. All functions are called
 * on the loop thread. */
#ifndef CW_LOOP_OFFLOAD_H
#define CW_LOOP_OFFLOAD_H

#include "loop/loop.h"

/* A piece of work, which the caller embeds; it sets run, done and arg. */
struct cw_offload {
    cw_loop_fn *run;  /* Called on the thread. */
    cw_loop_fn *done; /* Called on the loop thread afterwards; NULL: run ends the work's life. */
    void *arg;
    struct cw_offload *next;
    struct cw_loop_node node;
};
struct cw_offload_queue;
/* name: of the thread, at most 15 characters. The thread starts with the first work. */
struct cw_offload_queue *cw_offload_queue_new(struct cw_loop *loop, const char *name) CW_MUST_CHECK;
void cw_offload_add(struct cw_offload_queue *queue, struct cw_offload *work);
/* Calls fn(arg) on the thread, and nothing afterwards: for freeing what has many parts. */
void cw_offload_call(struct cw_offload_queue *queue, cw_loop_fn *fn, void *arg);
/* Waits until all work was run, and frees the queue. What is done of it is called by the loop
 * later, at the latest when that is freed. Accepts NULL. */
void cw_offload_queue_free(struct cw_offload_queue *queue);

#endif
