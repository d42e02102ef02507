/* SPDX-License-Identifier: Apache-2.0 */
/* Watches signals and readable descriptors. */
#include <signal.h>

#include "base/mem.h"
#include "loop/loop_int.h"

struct signal_watch {
    struct cw_handle handle;
    cw_signal_fn *fn;
};

static void on_signal(uv_signal_t *uv, int signum)
{
    struct signal_watch *watch = CW_CONTAINER_OF(uv, struct signal_watch, handle.uv.signal);

    cw_loop_touch(watch->handle.loop);
    watch->fn(watch->handle.arg, signum);
}

int cw_loop_on_signal(struct cw_loop *loop, int signum, cw_signal_fn *fn, void *arg,
                      struct cw_err *err)
{
    struct signal_watch *watch = CW_NEW(struct signal_watch);
    int rc = uv_signal_init(&loop->uv, &watch->handle.uv.signal);

    if (rc != 0) {
        cw_mem_free(watch);
        return cw_err_errno(err, -rc, "cannot watch signal %d", signum);
    }
    watch->handle.loop = loop;
    watch->handle.arg = arg;
    watch->fn = fn;
    rc = uv_signal_start(&watch->handle.uv.signal, on_signal, signum);
    if (rc != 0) {
        cw_handle_close(&watch->handle.uv.any);
        return cw_err_errno(err, -rc, "cannot watch signal %d", signum);
    }
    return CW_OK;
}

struct cw_poll {
    struct cw_handle handle;
};

/* An error is reported like data: whoever reads then sees it. */
static void on_readable(uv_poll_t *uv, int status, int events)
{
    struct cw_poll *poll = CW_CONTAINER_OF(uv, struct cw_poll, handle.uv.poll);

    (void)status;
    (void)events;
    cw_loop_touch(poll->handle.loop);
    poll->handle.fn(poll->handle.arg);
}

struct cw_poll *cw_poll_new(struct cw_loop *loop, int fd, cw_loop_fn *fn, void *arg,
                            struct cw_err *err)
{
    struct cw_poll *poll = CW_NEW(struct cw_poll);
    int rc = uv_poll_init(&loop->uv, &poll->handle.uv.poll, fd);

    if (rc != 0) {
        cw_mem_free(poll);
        cw_err_errno(err, -rc, "cannot watch descriptor %d", fd);
        return NULL;
    }
    poll->handle.loop = loop;
    poll->handle.fn = fn;
    poll->handle.arg = arg;
    rc = uv_poll_start(&poll->handle.uv.poll, UV_READABLE, on_readable);
    if (rc != 0) {
        cw_poll_free(poll);
        cw_err_errno(err, -rc, "cannot watch descriptor %d", fd);
        return NULL;
    }
    return poll;
}

void cw_poll_free(struct cw_poll *poll)
{
    if (poll)
        cw_handle_close(&poll->handle.uv.any);
}
