/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors, arguments and the start of a child's process. */
#include "python/python_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "python/python_setup.h"
#include "python/python_wire.h"

#define ARGS_MAX 128

/* A descriptor above those that the child has, so that dup2 overwrites none that is still needed. */
static int above(int fd)
{
    int moved =
        fd < 0 || fd > CW_PYTHON_MEMORY ? fd : fcntl(fd, F_DUPFD_CLOEXEC, CW_PYTHON_MEMORY + 1);
    if (moved != fd)
        close(fd);
    return moved;
}

struct ends {
    int ours, theirs, memory;
};

static void close_ends(const struct ends *ends)
{
    const int all[] = {ends->ours, ends->theirs, ends->memory};
    for (size_t i = 0; i < CW_ARRAY_LEN(all); i++)
        if (all[i] >= 0)
            close(all[i]);
}

static int make_ends(struct ends *ends, struct cw_err *err)
{
    int pair[2] = {-1, -1};
    *ends = (struct ends){-1, -1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return cw_err_errno(err, errno, "socketpair");
    ends->ours = above(pair[0]);
    ends->theirs = above(pair[1]);
    ends->memory = above(memfd_create("cachew-python", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (ends->ours >= 0 && ends->theirs >= 0 && ends->memory >= 0 &&
        fcntl(ends->memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
        return 0;
    int saved = errno;
    close_ends(ends);
    return cw_err_errno(err, saved, "cannot make the memory of a child");
}

static int set_actions(posix_spawn_file_actions_t *actions, const struct ends *ends)
{
    int rc = 0;
    for (int fd = STDIN_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++)
        rc = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, ends->theirs, CW_PYTHON_SOCKET);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, ends->memory, CW_PYTHON_MEMORY);
    return rc == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, CW_PYTHON_MEMORY + 1) : rc;
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
    return rc == 0 ? posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                        POSIX_SPAWN_SETPGROUP)
                   : rc;
}

static int spawn(const char *const *argv, const struct ends *ends, pid_t *ret_pid)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    char *nothing[] = {NULL};
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
            rc = set_actions(&actions, ends);
        if (rc == 0)
            rc = posix_spawn(ret_pid, argv[0], &actions, &attr, args.out, nothing);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* The command line of cachew-sandbox (sandbox_main.c). */
static void make_args(const struct cw_python_setup *setup, const char *memory, const char *program,
                      const char **argv)
{
    size_t n = 0;
    argv[n++] = setup->launcher;
    argv[n++] = memory;
    argv[n++] = setup->sandboxed ? "on" : "off";
    for (size_t i = 0; setup->readable[i]; i++)
        argv[n++] = setup->readable[i];
    argv[n++] = "--";
    argv[n++] = setup->interpreter;
    argv[n++] = "-E"; /* the environment is empty; */
    argv[n++] = "-P"; /* the folder where it stands has no modules; */
    argv[n++] = "-B"; /* it writes nothing */
    argv[n++] = "-c";
    argv[n++] = program;
    if (setup->sandboxed)
        argv[n++] = "sandboxed"; /* so that it can say so */
    CW_ASSERT(n <= ARGS_MAX);
}

int cw_python_spawn(uint64_t memory_bytes, struct cw_child *ret_process, int *ret_socket,
                    int *ret_memory, struct cw_err *err)
{
    const struct cw_python_setup *setup = NULL;
    const char *argv[ARGS_MAX + 1] = {0};
    struct ends ends;
    pid_t pid = 0;
    char memory[32];
    int rc = cw_python_setup(&setup, err);
    if (rc == 0)
        rc = make_ends(&ends, err);
    if (rc != 0)
        return rc;
    cw_autofree char *program =
        cw_mem_strndup((const char *)cw_python_program, cw_python_program_n);
    snprintf(memory, sizeof(memory), "%llu", (unsigned long long)memory_bytes);
    make_args(setup, memory, program, argv);
    int code = spawn(argv, &ends, &pid);
    if (code != 0) {
        close_ends(&ends);
        return cw_err_errno(err, code, "cannot start %s", argv[0]);
    }
    close(ends.theirs);
    *ret_process = (struct cw_child){.pid = pid, .stdin_fd = -1, .stdout_fd = -1};
    *ret_socket = ends.ours;
    *ret_memory = ends.memory;
    return 0;
}
