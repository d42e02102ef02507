/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: a disk that fails or is slow on command, below the directory $FAILING_DISK. What
 * it does stands in the file $FAILING_DISK_DOES, and is read anew each time: "writes" (they
 * fail, no space), "syncs" (they fail, I/O error), "hold" (a sync does not return before it says
 * something else); anything else, or no file: the disk is well. Each sync adds a byte to
 * $FAILING_DISK_SYNCS, where that is set. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

typedef ssize_t write_fn(int fd, const void *p, size_t n);
typedef ssize_t pwrite_fn(int fd, const void *p, size_t n, off_t at);
typedef int sync_fn(int fd);

#define REAL(fn, type) (*(type **)find(&(void *){NULL}, fn))

static void **find(void **ret, const char *name)
{
    *ret = dlsym(RTLD_NEXT, name);
    return ret;
}

static int is_below(int fd)
{
    const char *dir = getenv("FAILING_DISK");
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = dir ? readlink(link, path, sizeof(path) - 1) : -1;
    if (n < 0)
        return 0;
    path[n] = '\0';
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/';
}

static void read_command(int fd, char *ret_command, size_t cap)
{
    const char *file = getenv("FAILING_DISK_DOES");
    ret_command[0] = '\0';
    if (!file || !is_below(fd))
        return;
    int in = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = in >= 0 ? read(in, ret_command, cap - 1) : 0;
    ret_command[n > 0 ? n : 0] = '\0';
    if (in >= 0)
        close(in);
}

static int writes_fail(int fd)
{
    char command[64];
    int saved = errno;
    read_command(fd, command, sizeof(command));
    errno = saved;
    if (strncmp(command, "writes", 6) != 0)
        return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t write(int fd, const void *p, size_t n)
{
    return writes_fail(fd) ? -1 : REAL("write", write_fn)(fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return writes_fail(fd) ? -1 : REAL("pwrite", pwrite_fn)(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return writes_fail(fd) ? -1 : REAL("pwrite64", pwrite_fn)(fd, p, n, (off_t)at);
}

static void count(int fd)
{
    const char *file = getenv("FAILING_DISK_SYNCS");
    int out =
        file && is_below(fd) ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (out < 0)
        return;
    (void)!REAL("write", write_fn)(out, ".", 1);
    close(out);
}

static int do_sync(int fd, sync_fn *real)
{
    char command[64];
    count(fd);
    read_command(fd, command, sizeof(command));
    while (strncmp(command, "hold", 4) == 0) {
        (void)nanosleep(&(const struct timespec){.tv_nsec = 5000000}, NULL);
        read_command(fd, command, sizeof(command));
    }
    if (strncmp(command, "syncs", 5) == 0) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int fsync(int fd)
{
    return do_sync(fd, REAL("fsync", sync_fn));
}

int fdatasync(int fd)
{
    return do_sync(fd, REAL("fdatasync", sync_fn));
}
