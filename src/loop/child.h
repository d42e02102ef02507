/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes, started by posix_spawn (never by a bare fork, since the parent may hold CUDA or
 * MPI state). They are not tied to a loop; any thread may call these functions. */
#ifndef CW_LOOP_CHILD_H
#define CW_LOOP_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

struct cw_child {
    pid_t pid; /* 0 = not running */
    /* The parent's end of a pipe. When it is closed, the child learns that the parent is gone
     * (--exit-with-stdin). */
    int stdin_fd;
    int stdout_fd; /* the parent's end of a pipe; close-on-exec */
    int status;    /* the wait status, once the child has ended */
};
/* Starts a child. It gets its own process group (the parent handles a ^C at the terminal), default
 * signal dispositions, and no descriptors but 0, 1 and 2. argv[0] is a path. stderr is inherited,
 * or goes to stderr_path if that is not NULL. nice_level 0: unchanged. */
int cw_child_start(struct cw_child *child, const char *const *argv, const char *stderr_path,
                   int nice_level, struct cw_err *err);
/* Does the same for a child that finds this line on its stdin, which is how it is told what nobody
 * else may see; NULL: nothing. A line is shorter than what a pipe takes at once. */
int cw_child_start_told(struct cw_child *child, const char *const *argv, const char *line,
                        struct cw_err *err);
/* Reads one line (without its newline) from the child's stdout. TIMEOUT, or UNAVAILABLE if the
 * child ended before. */
int cw_child_read_line(struct cw_child *child, int64_t timeout_ms, char *ret_line, size_t cap,
                       struct cw_err *err);
/* Waits at most so long until the child has written something or has ended; returns whether it
 * has. */
bool cw_child_has_output(struct cw_child *child, int64_t timeout_ms);
void cw_child_kill(struct cw_child *child, int signum);
/* Makes a child with --exit-with-stdin exit, without waiting for it. */
void cw_child_close_stdin(struct cw_child *child);
/* Waits until the child ends, and kills it (SIGKILL) at the timeout. Closes the descriptors.
 * Returns the wait status. */
int cw_child_stop(struct cw_child *child, int64_t timeout_ms);
/* Whether the child runs; if it has ended, its status is collected. */
bool cw_child_is_alive(struct cw_child *child);
/* Finds the directory of our own programs: $CACHEW_BIN_DIR, or that of the running executable or of
 * libcachew (../bin beside lib), or the installed one; the first of these in which `program`
 * exists. */
int cw_child_find(const char *program, char *ret_path, size_t cap, struct cw_err *err);

#endif
