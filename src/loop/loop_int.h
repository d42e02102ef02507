/* SPDX-License-Identifier: Apache-2.0 */
/* The loop object, shared by the files of this folder. */
#ifndef CW_LOOP_LOOP_INT_H
#define CW_LOOP_LOOP_INT_H

#include <stdatomic.h>
#include <uv.h>
#include "base/thread.h"
#include "loop/loop.h"

struct cw_handle;

struct cw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    _Atomic(struct cw_loop_node *) posted; /* pushed by any thread; newest first */
    atomic_bool stopping;                  /* set by any thread */
    /* Loop thread only: how long posted calls gather, and the timer that ends it. Meanwhile the node
     * is posted, so the stack is not empty, and nobody wakes the loop. */
    int64_t gather_ms;
    struct cw_handle *gather_timer; /* NULL: they never gathered */
    struct cw_loop_node gather_node;
    bool gather_posted;
    uint64_t posted_n;  /* loop thread only: posted calls that were run */
    bool something_ran; /* loop thread only: something ran since the end of the last iteration */
    cw_loop_fn *iteration_end;
    void *iteration_end_arg;
    /* Of a loop that is lent (lend.c). Whoever runs calls holds the mutex, which guards all of the
     * loop that is the loop thread's alone otherwise. */
    bool lent;
    struct cw_mutex turn;
    atomic_bool wanted;   /* the loop thread waits for its turn */
    bool asleep;          /* guarded by turn: the loop thread only waits */
    uint64_t wakes_at_ms; /* guarded by turn: when it ends by itself, by the clock of libuv */
};

/* Every callback of libuv calls this before it calls code of a user. */
static inline void cw_loop_touch(struct cw_loop *loop)
{
    loop->something_ran = true;
}

/* The beginning of handles that users own. A handle is freed when libuv does not use it any
 * more. */
struct cw_handle {
    union {
        uv_handle_t any;
        uv_timer_t timer;
        uv_signal_t signal;
        uv_poll_t poll;
    } uv; /* the first member, so that libuv's pointer is also one to the handle */
    struct cw_loop *loop;
    cw_loop_fn *fn;
    void *arg;
};
void cw_handle_close(uv_handle_t *uv);

/* ---- mailbox.c ---- */
/* Adds the node to the mailbox. Returns whether it was empty: then the caller sees to it that the
 * calls are run. */
bool cw_loop_push(struct cw_loop *loop, struct cw_loop_node *node);
/* Runs what was posted; returns whether there was anything. */
bool cw_loop_run_posted(struct cw_loop *loop);
void cw_loop_end_iteration(struct cw_loop *loop);
/* ---- lend.c ---- */
void cw_loop_run_lent(struct cw_loop *loop);

#endif
