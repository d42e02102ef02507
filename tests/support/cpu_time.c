/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_time LABEL NAME COMMAND [ARG]...: runs a test, and appends "LABEL NAME CPU-SECONDS" to the file
 * that CACHEW_CPU_LOG names: the time of the command and of all its descendants that have ended by then,
 * orphans included (it is their reaper). Without CACHEW_CPU_LOG it becomes the command. Its exit status,
 * or the signal that ended it, is the command's. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void forward(int signum)
{
    if (child > 0)
        kill((pid_t)child, signum);
}

static int become(char **argv)
{
    execvp(argv[0], argv);
    fprintf(stderr, "cpu_time: %s: %s\n", argv[0], strerror(errno));
    return 127;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* One write, so that tests that run at the same time do not mix their lines. */
static void note(const char *path, const char *label, const char *name)
{
    struct rusage used;
    char line[512];

    getrusage(RUSAGE_CHILDREN, &used);
    int n = snprintf(line, sizeof(line), "%s %s %.3f\n", label, name,
                     seconds(used.ru_utime) + seconds(used.ru_stime));
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || n < 0 || write(fd, line, (size_t)n) != n)
        fprintf(stderr, "cpu_time: %s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static int wait_for_child(void)
{
    int status = 0;

    for (;;) {
        int one;
        pid_t pid = waitpid(-1, &one, 0);
        if (pid == (pid_t)child) {
            status = one;
            break;
        }
        if (pid < 0 && errno != EINTR)
            break;
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return status;
}

int main(int argc, char **argv)
{
    const char *path = getenv("CACHEW_CPU_LOG");

    if (argc < 4) {
        fprintf(stderr, "usage: cpu_time LABEL NAME COMMAND [ARG]...\n");
        return 2;
    }
    if (!path || !path[0])
        return become(argv + 3);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct sigaction action = {.sa_handler = forward};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    pid_t pid = fork();
    if (pid == 0)
        return become(argv + 3);
    if (pid < 0) {
        perror("cpu_time: fork");
        return 127;
    }
    child = (sig_atomic_t)pid;
    int status = wait_for_child();
    note(path, argv[1], argv[2]);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
