/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: a file system that hangs. While the file $HANGING_WHILE is there, opening a
 * directory below $HANGING_DIRS does not come back, and reading a file below $HANGING_READS does
 * not. Each such call adds a byte to the file $HANGING_CALLS. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

typedef ssize_t pread_fn(int fd, void *dst, size_t n, off_t at);
typedef ssize_t preadv2_fn(int fd, const struct iovec *parts, int n, off_t at, int flags);
typedef DIR *opendir_fn(const char *name);

#define REAL(fn, type) (*(type **)find(&(void *){NULL}, fn))

static void **find(void **ret, const char *name)
{
    *ret = dlsym(RTLD_NEXT, name);
    return ret;
}

static int hangs(const char *root, const char *path)
{
    const char *dir = getenv(root), *gate = getenv("HANGING_WHILE");
    return dir && gate && getenv("HANGING_CALLS") && strncmp(path, dir, strlen(dir)) == 0 &&
           access(gate, F_OK) == 0;
}

static void hang(const char *root, const char *path)
{
    const char *gate = getenv("HANGING_WHILE"), *calls = getenv("HANGING_CALLS");
    if (!hangs(root, path))
        return;
    int out = open(calls, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)!write(out, ".", 1);
    close(out);
    while (access(gate, F_OK) == 0)
        (void)nanosleep(&(const struct timespec){.tv_nsec = 5000000}, NULL);
}

DIR *opendir(const char *name)
{
    hang("HANGING_DIRS", name);
    return REAL("opendir", opendir_fn)(name);
}

static const char *path_of(int fd, char path[4096])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, 4095);
    path[len > 0 ? len : 0] = '\0';
    return path;
}

ssize_t pread(int fd, void *dst, size_t n, off_t at)
{
    char path[4096];
    hang("HANGING_READS", path_of(fd, path));
    return REAL("pread", pread_fn)(fd, dst, n, at);
}

/* Who does not want to wait is told that he would have to. */
ssize_t preadv2(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
    char path[4096];
    if ((flags & RWF_NOWAIT) && hangs("HANGING_READS", path_of(fd, path))) {
        errno = EAGAIN;
        return -1;
    }
    return REAL("preadv2", preadv2_fn)(fd, parts, n, at, flags);
}

ssize_t pread64(int fd, void *dst, size_t n, off64_t at)
{
    return pread(fd, dst, n, at);
}
