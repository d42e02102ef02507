/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_LOOP_LOOP_INT_H
#define CW_LOOP_LOOP_INT_H

#include <stdatomic.h>
#include <uv.h>
#include "loop/loop.h"

struct cw_loop {
    uv_loop_t uv;
    uv_async_t wake;
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    _Atomic(struct cw_loop_node *) posted; /* any thread; newest first */
    atomic_bool stopping;                  /* any thread */
    bool something_ran;                    /* loop: since the last turn end */
    cw_loop_fn *turn_end;
    void *turn_end_arg;
};

/* Every callback of libuv calls this before user code. */
static inline void cw_loop_touch(struct cw_loop *loop)
{
    loop->something_ran = true;
}

/* Handles that users own begin with this; freed when libuv has let go of them. */
struct cw_handle {
    union {
        uv_handle_t any;
        uv_timer_t timer;
        uv_signal_t signal;
        uv_poll_t poll;
    } uv; /* first: libuv's pointer is ours */
    struct cw_loop *loop;
    cw_loop_fn *fn;
    void *arg;
};
void cw_handle_close(uv_handle_t *uv);

#endif
