/* SPDX-License-Identifier: Apache-2.0 */
/* Starts child processes, reads their output, and waits for their end. */
#include "loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

struct pipes {
    int in[2], out[2]; /* the read end and the write end of each pipe; -1: none */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&pipes->in[i]);
        close_fd(&pipes->out[i]);
    }
}

/* Makes a pipe whose ends are both above 2, so that the child's dup2 calls cannot overwrite each
 * other if the parent has closed its standard streams. */
static int make_pipe(int fds[2])
{
    int raw[2];

    if (pipe2(raw, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        fds[i] = raw[i] > 2 ? raw[i] : fcntl(raw[i], F_DUPFD_CLOEXEC, 3);
    int saved = errno;
    for (int i = 0; i < 2; i++)
        if (raw[i] <= 2)
            close(raw[i]);
    return fds[0] < 0 || fds[1] < 0 ? saved : 0;
}

static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t all, none;

    sigfillset(&all);
    sigemptyset(&none);
    int rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setpgroup(attr, 0);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETPGROUP);
    return rc;
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct pipes *pipes,
                       const char *stderr_path)
{
    int rc = posix_spawn_file_actions_adddup2(actions, pipes->in[0], STDIN_FILENO);

    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, pipes->out[1], STDOUT_FILENO);
    if (rc == 0 && stderr_path)
        rc = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, stderr_path,
                                              O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
    return rc;
}

static int spawn(pid_t *ret_pid, const char *const *argv, const struct pipes *pipes,
                 const char *stderr_path)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    union {
        const char *const *in;
        char *const *out; /* posix_spawn does not change the strings */
    } args = {.in = argv};

    int rc = posix_spawnattr_init(&attr);
    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0) {
        rc = set_attributes(&attr);
        if (rc == 0)
            rc = set_actions(&actions, pipes, stderr_path);
        if (rc == 0)
            rc = posix_spawn(ret_pid, argv[0], &actions, &attr, args.out, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* Puts a line into the pipe before anybody reads it, so that nobody who does not can hurt us. */
static int put_line(int fd, const char *line)
{
    char text[PIPE_BUF];
    int n = snprintf(text, sizeof(text), "%s\n", line);
    CW_ASSERT(n > 0 && n < (int)sizeof(text));
    int rc = write(fd, text, (size_t)n) == n ? 0 : EIO;
    explicit_bzero(text, sizeof(text));
    return rc;
}

/* line: what the child finds on its stdin; NULL: nothing. */
static int start(struct cw_child *child, const char *const *argv, const char *line,
                 const char *stderr_path, int nice_level, struct cw_err *err)
{
    struct pipes pipes = {{-1, -1}, {-1, -1}};
    pid_t pid = 0;

    *child = (struct cw_child){.stdin_fd = -1, .stdout_fd = -1};
    int rc = make_pipe(pipes.in);
    if (rc == 0)
        rc = make_pipe(pipes.out);
    if (rc == 0 && line)
        rc = put_line(pipes.in[1], line);
    if (rc == 0)
        rc = spawn(&pid, argv, &pipes, stderr_path);
    if (rc != 0) {
        close_pipes(&pipes);
        return cw_err_errno(err, rc, "cannot start %s", argv[0]);
    }
    if (nice_level != 0)
        (void)setpriority(PRIO_PROCESS, (id_t)pid, nice_level); /* a failure does not matter */
    close_fd(&pipes.in[0]);
    close_fd(&pipes.out[1]);
    *child = (struct cw_child){.pid = pid, .stdin_fd = pipes.in[1], .stdout_fd = pipes.out[0]};
    return CW_OK;
}

int cw_child_start(struct cw_child *child, const char *const *argv, const char *stderr_path,
                   int nice_level, struct cw_err *err)
{
    return start(child, argv, NULL, stderr_path, nice_level, err);
}

int cw_child_start_told(struct cw_child *child, const char *const *argv, const char *line,
                        struct cw_err *err)
{
    return start(child, argv, line, NULL, 0, err);
}

/* Waits for input until the deadline; returns CW_OK, TIMEOUT or IO. */
static int wait_readable(int fd, int64_t deadline_ms)
{
    for (;;) {
        int64_t left = deadline_ms - cw_clock_ms();
        struct pollfd pfd = {.fd = fd, .events = POLLIN};

        if (left <= 0)
            return CW_E_TIMEOUT;
        int n = poll(&pfd, 1, (int)CW_MIN(left, 60000));
        if (n > 0)
            return CW_OK;
        if (n < 0 && errno != EINTR)
            return CW_E_IO;
    }
}

bool cw_child_has_output(struct cw_child *child, int64_t timeout_ms)
{
    return wait_readable(child->stdout_fd, cw_clock_ms() + timeout_ms) != CW_E_TIMEOUT;
}

static int fail_ended(struct cw_child *child, struct cw_err *err)
{
    /* A child's stdout is closed a moment before the child can be waited for. */
    for (int i = 0; i < 100 && cw_child_is_alive(child); i++)
        cw_clock_sleep_ns(10000000);
    if (child->pid != 0)
        return cw_err_set(err, CW_E_UNAVAILABLE, "process %d closed its output", (int)child->pid);
    if (WIFSIGNALED(child->status))
        return cw_err_set(err, CW_E_UNAVAILABLE, "the process was ended by signal %d",
                          WTERMSIG(child->status));
    return cw_err_set(err, CW_E_UNAVAILABLE, "the process ended with status %d",
                      WEXITSTATUS(child->status));
}

int cw_child_read_line(struct cw_child *child, int64_t timeout_ms, char *ret_line, size_t cap,
                       struct cw_err *err)
{
    int64_t deadline_ms = cw_clock_ms() + timeout_ms;
    size_t n = 0;

    /* Bytes are read one by one, since those behind the line belong to the next reader. */
    while (n + 1 < cap) {
        int rc = wait_readable(child->stdout_fd, deadline_ms);
        if (rc != CW_OK)
            return cw_err_set(err, rc, "no line from process %d within %lld ms", (int)child->pid,
                              (long long)timeout_ms);
        ssize_t got = read(child->stdout_fd, ret_line + n, 1);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return fail_ended(child, err);
        if (ret_line[n] == '\n') {
            ret_line[n] = '\0';
            return CW_OK;
        }
        n++;
    }
    return cw_err_set(err, CW_E_LIMIT, "process %d wrote a line of more than %zu bytes",
                      (int)child->pid, cap - 1);
}

void cw_child_kill(struct cw_child *child, int signum)
{
    if (child->pid > 0)
        kill(child->pid, signum);
}

/* Returns true if the child has ended (or another thread has waited for it). */
static bool reap(struct cw_child *child, int flags)
{
    int status = 0;
    pid_t pid;

    do
        pid = waitpid(child->pid, &status, flags);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    child->status = pid > 0 ? status : 0;
    child->pid = 0;
    return true;
}

bool cw_child_is_alive(struct cw_child *child)
{
    return child->pid > 0 && !reap(child, WNOHANG);
}

void cw_child_close_stdin(struct cw_child *child)
{
    close_fd(&child->stdin_fd);
}

int cw_child_stop(struct cw_child *child, int64_t timeout_ms)
{
    int64_t deadline_ms = cw_clock_ms() + timeout_ms;
    int64_t nap_ms = 1;

    if (child->pid == 0 && child->stdin_fd == 0 && child->stdout_fd == 0)
        return 0; /* a zeroed struct: the child was never started */
    close_fd(&child->stdin_fd);
    while (cw_child_is_alive(child)) {
        if (cw_clock_ms() >= deadline_ms) {
            cw_child_kill(child, SIGKILL);
            reap(child, 0);
            break;
        }
        cw_clock_sleep_ns(nap_ms * 1000000);
        nap_ms = CW_MIN(nap_ms * 2, 20);
    }
    close_fd(&child->stdout_fd);
    return child->status;
}
