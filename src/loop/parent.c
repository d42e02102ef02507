/* SPDX-License-Identifier: Apache-2.0 */
/* Watches standard input and the parent process, to learn that the parent has exited. */
#include "loop/parent.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

struct cw_parent_watch {
    struct cw_poll *input, *process;
    /* -1: the kernel provides none, or the parent is in another process namespace */
    int process_fd;
    cw_loop_fn *fn;
    void *arg;
};

/* A descriptor that is readable when the process has ended. The C library has a function for this from
 * 2.36 on only, and programs shall run with 2.34. */
static int open_process(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0U);
}

static void stop(struct cw_parent_watch *watch)
{
    cw_poll_free(cw_steal(&watch->input));
    cw_poll_free(cw_steal(&watch->process));
    if (watch->process_fd >= 0)
        close(watch->process_fd);
    watch->process_fd = -1;
}

static void notify(struct cw_parent_watch *watch)
{
    stop(watch);
    watch->fn(watch->arg);
}

static void on_input(void *arg)
{
    struct cw_parent_watch *watch = arg;
    char bytes[256];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    notify(watch);
}

static void on_process(void *arg)
{
    notify(arg);
}

int cw_parent_watch(struct cw_loop *loop, cw_loop_fn *fn, void *arg,
                    struct cw_parent_watch **ret_watch, struct cw_err *err)
{
    struct cw_parent_watch *watch = CW_NEW(struct cw_parent_watch);
    pid_t parent = getppid();
    watch->fn = fn;
    watch->arg = arg;
    watch->process_fd = parent > 0 ? open_process(parent) : -1;
    watch->input = cw_poll_new(loop, STDIN_FILENO, on_input, watch, err);
    if (watch->input && watch->process_fd >= 0)
        watch->process = cw_poll_new(loop, watch->process_fd, on_process, watch, err);
    if (!watch->input || (watch->process_fd >= 0 && !watch->process)) {
        cw_parent_unwatch(watch);
        return err->code;
    }
    *ret_watch = watch;
    return 0;
}

void cw_parent_unwatch(struct cw_parent_watch *watch)
{
    if (!watch)
        return;
    stop(watch);
    cw_mem_free(watch);
}
