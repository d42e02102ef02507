/* SPDX-License-Identifier: Apache-2.0 */
/* A libuv loop thread, which owns control state, and what runs code on it: posted calls, timers,
 * signals, readable descriptors. cw_loop_post, cw_loop_post_node, cw_loop_run_node and cw_loop_stop
 * may be called by any thread, everything else on the loop thread only, or before the loop runs. The
 * loop thread is also the thread that runs a call in its place (cw_loop_lend). */
#ifndef CW_LOOP_LOOP_H
#define CW_LOOP_LOOP_H

#include <stdbool.h>
#include "base/err.h"

struct cw_loop;
typedef void cw_loop_fn(void *arg);

struct cw_loop *cw_loop_new(void) CW_MUST_CHECK;
/* The loop must not be running, and no thread may post any more. Runs the posted calls that have
 * not run yet, and frees the timers that are left. */
void cw_loop_free(struct cw_loop *loop);
void cw_loop_run(struct cw_loop *loop);  /* Runs the loop until cw_loop_stop is called. */
void cw_loop_stop(struct cw_loop *loop); /* May be called by any thread. */

/* Runs fn(arg) on the loop thread, in the order posted. Any thread. */
void cw_loop_post(struct cw_loop *loop, cw_loop_fn *fn, void *arg);
/* Does the same without an allocation: the caller embeds the node, which must live until fn has
 * begun. */
struct cw_loop_node {
    struct cw_loop_node *next;
    cw_loop_fn *fn;
    void *arg;
};
void cw_loop_post_node(struct cw_loop *loop, struct cw_loop_node *node);
/* Lends the loop, before it runs: cw_loop_run_node may run a call on the thread that has it, while
 * the loop thread only waits. Calls still run one at a time. Not together with cw_loop_set_gather. */
void cw_loop_lend(struct cw_loop *loop);
/* Posts the node, and runs it at once on this thread if the loop is lent and has nothing else to do.
 * The caller holds no lock that a call of the loop takes, and uses nothing that such a call frees. */
void cw_loop_run_node(struct cw_loop *loop, struct cw_loop_node *node);
/* Sets the function that is called at the end of each loop iteration in which something ran (the
 * dispatcher commits there). There is at most one. */
void cw_loop_set_iteration_end(struct cw_loop *loop, cw_loop_fn *fn, void *arg);

/* Lets calls that other threads post gather: after some were run, further ones wait for so many ms
 * and are run together, and those who post do not wake the loop for each. A loop with thousands of
 * peers thus has fewer iterations. 0, the default: each is run as soon as the loop has time. */
void cw_loop_set_gather(struct cw_loop *loop, int64_t ms);

struct cw_timer;
struct cw_timer *cw_timer_new(struct cw_loop *loop, cw_loop_fn *fn, void *arg) CW_MUST_CHECK;
/* Starts the timer, or starts it again. repeat_ms 0: it fires once. */
void cw_timer_start(struct cw_timer *timer, int64_t delay_ms, int64_t repeat_ms);
void cw_timer_stop(struct cw_timer *timer);
bool cw_timer_is_active(const struct cw_timer *timer);
void cw_timer_free(struct cw_timer *timer); /* accepts NULL */

/* Calls fn(signum) on the loop thread. It must be called before other threads start. */
typedef void cw_signal_fn(void *arg, int signum);
int cw_loop_on_signal(struct cw_loop *loop, int signum, cw_signal_fn *fn, void *arg,
                      struct cw_err *err);

/* Calls fn on the loop thread while fd is readable, until it is freed. The descriptor belongs to
 * the caller, and is made non-blocking. */
struct cw_poll;
struct cw_poll *cw_poll_new(struct cw_loop *loop, int fd, cw_loop_fn *fn, void *arg,
                            struct cw_err *err) CW_MUST_CHECK;
void cw_poll_free(struct cw_poll *poll);

#endif
