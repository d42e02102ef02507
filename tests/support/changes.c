/* SPDX-License-Identifier: Apache-2.0 */
/* changes DIRECTORY [PID | fd:N]...: tells a test that something has happened which it may wait for. It prints
 * "watching", and from then on a line after a file below DIRECTORY was made, written, renamed or
 * removed, one of the processes has ended, or the descriptor, which it inherited, can be read. As long
 * as nobody has read the last line it prints no other: who reads a line and looks then has missed
 * nothing. It ends when nobody reads any more.
 *
 * inotify does not tell of what is written into a pipe that has a name, or through a mapping. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A program that writes line by line would have the test look after each: those within this time
 * are told at once. */
#define TOGETHER_MS 10
#define WATCHED_MAX 4096
#define OTHERS_MAX 256

static int inotify_fd;
static char *watched[WATCHED_MAX]; /* by watch descriptor, the path of a directory */

static void die(const char *what)
{
    fprintf(stderr, "changes: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The directory and those below it. One that is gone meanwhile is none. */
static void watch(const char *path)
{
    int wd = inotify_add_watch(inotify_fd, path,
                               IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVE | IN_ONLYDIR |
                                   IN_DONT_FOLLOW);
    if (wd < 0 || wd >= WATCHED_MAX)
        return;
    free(watched[wd]);
    watched[wd] = strdup(path);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        char below[PATH_MAX];
        if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (snprintf(below, sizeof(below), "%s/%s", path, e->d_name) < (int)sizeof(below))
            watch(below);
    }
    closedir(dir);
}

/* Directories that are new are watched, too. */
static void read_events(void)
{
    char buffer[65536] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(inotify_fd, buffer, sizeof(buffer));

    if (n < 0 && errno != EINTR && errno != EAGAIN)
        die("inotify");
    for (const char *at = buffer; at < buffer + n;) {
        const struct inotify_event *event = (const void *)at;
        char path[PATH_MAX];
        if ((event->mask & IN_ISDIR) && (event->mask & (IN_CREATE | IN_MOVED_TO)) &&
            event->wd >= 0 && event->wd < WATCHED_MAX && watched[event->wd] &&
            snprintf(path, sizeof(path), "%s/%s", watched[event->wd], event->name) <
                (int)sizeof(path))
            watch(path);
        at += sizeof(*event) + event->len;
    }
}

/* A descriptor of the process or the one that was named; -1 when the process is gone. */
static int open_other(const char *name)
{
    if (!strncmp(name, "fd:", 3))
        return (int)strtol(name + 3, NULL, 10);
    return (int)syscall(SYS_pidfd_open, (pid_t)strtol(name, NULL, 10), 0);
}

/* Each is told once: a process that is dead stays so. */
static int forget_told(struct pollfd *others, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (others[i].revents)
            close(others[i].fd);
        else
            others[kept++] = others[i];
    }
    return kept;
}

static void tell(const char *line)
{
    int unread = 0;
    if (ioctl(STDOUT_FILENO, FIONREAD, &unread) == 0 && unread > 0)
        return;
    if (write(STDOUT_FILENO, line, strlen(line)) < 0)
        exit(0);
}

int main(int argc, char **argv)
{
    struct pollfd fds[2 + OTHERS_MAX];
    int n = 0;

    if (argc < 2 || argc - 2 > OTHERS_MAX) {
        fprintf(stderr, "usage: changes DIRECTORY [PID | fd:N]...\n");
        return 2;
    }
    inotify_fd = inotify_init1(IN_CLOEXEC);
    if (inotify_fd < 0)
        die("inotify");
    watch(argv[1]);
    fds[0] = (struct pollfd){.fd = inotify_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = STDOUT_FILENO}; /* an error once nobody reads */
    for (int i = 2; i < argc; i++) {
        int fd = open_other(argv[i]);
        if (fd >= 0)
            fds[2 + n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    tell("watching\n");
    for (;;) {
        if (poll(fds, (nfds_t)(2 + n), -1) < 0 && errno != EINTR)
            die("poll");
        if (fds[1].revents)
            return 0;
        if (fds[0].revents) {
            (void)poll(NULL, 0, TOGETHER_MS);
            read_events();
        }
        n = forget_told(fds + 2, n);
        tell("changed\n");
    }
}
