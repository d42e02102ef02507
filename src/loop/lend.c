/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that is lent: while its thread only waits, another thread that has a call for it runs the
 * call in its place, and the wake-up of a thread is saved. Whoever runs calls has the turn, so calls
 * still run one after the other, and see what those before them have done. */
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "loop/loop_int.h"

void cw_loop_lend(struct cw_loop *loop)
{
    CW_ASSERT(loop->gather_ms == 0);
    loop->lent = true;
}

/* Returns when libuv wants to run again, by its own clock. */
static uint64_t next_ms(struct cw_loop *loop)
{
    uv_update_time(&loop->uv);
    int timeout = uv_backend_timeout(&loop->uv);
    return timeout < 0 ? UINT64_MAX : uv_now(&loop->uv) + (uint64_t)timeout;
}

/* Waits, without the turn, until libuv has something to do. */
static void sleep_until(struct cw_loop *loop, uint64_t ms)
{
    struct pollfd events = {.fd = uv_backend_fd(&loop->uv), .events = POLLIN};
    uint64_t left = ms - uv_now(&loop->uv);

    loop->wakes_at_ms = ms;
    loop->asleep = true;
    cw_mutex_unlock(&loop->turn);
    int n = poll(&events, 1, ms == UINT64_MAX ? -1 : (int)CW_MIN(left, (uint64_t)INT_MAX));
    CW_ASSERT(n >= 0 || errno == EINTR);
    atomic_store(&loop->wanted, true);
    cw_mutex_lock(&loop->turn);
    atomic_store(&loop->wanted, false);
    loop->asleep = false;
}

void cw_loop_run_lent(struct cw_loop *loop)
{
    cw_mutex_lock(&loop->turn);
    while (!atomic_load(&loop->stopping)) {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        uint64_t next = next_ms(loop);
        if (next > uv_now(&loop->uv) && !atomic_load(&loop->stopping))
            sleep_until(loop, next);
    }
    cw_mutex_unlock(&loop->turn);
}

/* Runs what was posted on this thread. Returns false if it may not. */
static bool run_here(struct cw_loop *loop)
{
    if (!loop->lent || atomic_load(&loop->wanted) || !cw_mutex_try_lock(&loop->turn))
        return false;
    bool may = loop->asleep && !atomic_load(&loop->stopping);
    if (may) {
        cw_loop_run_posted(loop);
        cw_loop_end_iteration(loop);
        /* The loop thread waits until the time of a timer that may not be the next one any more. */
        if (next_ms(loop) < loop->wakes_at_ms)
            uv_async_send(&loop->wake);
    }
    cw_mutex_unlock(&loop->turn);
    return may;
}

void cw_loop_run_node(struct cw_loop *loop, struct cw_loop_node *node)
{
    if (cw_loop_push(loop, node) && !run_here(loop))
        uv_async_send(&loop->wake);
}
