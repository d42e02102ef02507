/* SPDX-License-Identifier: Apache-2.0 */
/* Watches sockets for reading and writing. */
#include "loop/socket_watch.h"

#include "base/mem.h"
#include "loop/loop_int.h"

struct cw_socket_watch {
    struct cw_handle handle;
    cw_socket_fn *fn;
    int fd;
};

static void on_event(uv_poll_t *uv, int status, int events)
{
    struct cw_socket_watch *watch = CW_CONTAINER_OF(uv, struct cw_socket_watch, handle.uv.poll);
    int seen = 0;

    if (status < 0 || (events & UV_READABLE))
        seen |= CW_SOCKET_READ;
    if (status < 0 || (events & UV_WRITABLE))
        seen |= CW_SOCKET_WRITE;
    cw_loop_touch(watch->handle.loop);
    watch->fn(watch->handle.arg, watch->fd, seen); /* fn may free the watch */
}

struct cw_socket_watch *cw_socket_watch_new(struct cw_loop *loop, int fd, cw_socket_fn *fn,
                                            void *arg, struct cw_err *err)
{
    struct cw_socket_watch *watch = CW_NEW(struct cw_socket_watch);
    int rc = uv_poll_init_socket(&loop->uv, &watch->handle.uv.poll, fd);

    if (rc != 0) {
        cw_mem_free(watch);
        cw_err_errno(err, -rc, "cannot watch socket %d", fd);
        return NULL;
    }
    watch->handle.loop = loop;
    watch->handle.arg = arg;
    watch->fn = fn;
    watch->fd = fd;
    return watch;
}

void cw_socket_watch_set(struct cw_socket_watch *watch, int events)
{
    int wanted =
        (events & CW_SOCKET_READ ? UV_READABLE : 0) | (events & CW_SOCKET_WRITE ? UV_WRITABLE : 0);

    if (wanted == 0)
        CW_ASSERT(uv_poll_stop(&watch->handle.uv.poll) == 0);
    else
        CW_ASSERT(uv_poll_start(&watch->handle.uv.poll, wanted, on_event) == 0);
}

void cw_socket_watch_free(struct cw_socket_watch *watch)
{
    if (!watch)
        return;
    CW_ASSERT(uv_poll_stop(&watch->handle.uv.poll) == 0);
    cw_handle_close(&watch->handle.uv.any);
}
