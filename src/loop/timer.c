/* SPDX-License-Identifier: Apache-2.0 */
/* Timers of a loop. */
#include "base/mem.h"
#include "loop/loop_int.h"

struct cw_timer {
    struct cw_handle handle;
};

static void on_timer(uv_timer_t *uv)
{
    struct cw_timer *timer = CW_CONTAINER_OF(uv, struct cw_timer, handle.uv.timer);

    cw_loop_touch(timer->handle.loop);
    timer->handle.fn(timer->handle.arg); /* fn may free the timer */
}

struct cw_timer *cw_timer_new(struct cw_loop *loop, cw_loop_fn *fn, void *arg)
{
    struct cw_timer *timer = CW_NEW(struct cw_timer);

    timer->handle.loop = loop;
    timer->handle.fn = fn;
    timer->handle.arg = arg;
    CW_ASSERT(uv_timer_init(&loop->uv, &timer->handle.uv.timer) == 0);
    return timer;
}

void cw_timer_start(struct cw_timer *timer, int64_t delay_ms, int64_t repeat_ms)
{
    /* libuv counts from the time at which the iteration began, which may be long ago. */
    uv_update_time(&timer->handle.loop->uv);
    CW_ASSERT(uv_timer_start(&timer->handle.uv.timer, on_timer, (uint64_t)CW_MAX(delay_ms, 0),
                             (uint64_t)CW_MAX(repeat_ms, 0)) == 0);
}

void cw_timer_stop(struct cw_timer *timer)
{
    uv_timer_stop(&timer->handle.uv.timer);
}

bool cw_timer_is_active(const struct cw_timer *timer)
{
    return uv_is_active(&timer->handle.uv.any) != 0;
}

void cw_timer_free(struct cw_timer *timer)
{
    if (timer)
        cw_handle_close(&timer->handle.uv.any);
}
