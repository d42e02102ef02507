/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: reads of files below SLOW_SOURCE take SLOW_LATENCY_US more each, and 1 us more for
 * each SLOW_BYTES_PER_US bytes: a stand-in for a network file system whose kernel cache has
 * nothing. It slows each reader by itself; several are slowed by each other if they share
 * SLOW_QUOTA, a file of 8 bytes: all of them together read once in SLOW_QUOTA_US. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

typedef ssize_t pread_fn(int fd, void *dst, size_t n, off_t offset);
typedef ssize_t preadv2_fn(int fd, const struct iovec *parts, int n, off_t offset, int flags);

static int is_slow(int fd)
{
    const char *root = getenv("SLOW_SOURCE");
    char link[64], path[1024];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = root ? readlink(link, path, sizeof(path) - 1) : -1;
    return n >= (ssize_t)strlen(root ? root : "") && root && memcmp(path, root, strlen(root)) == 0;
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Returns the time, shared by all processes, up to which the quota is used; NULL: there is none. */
static int64_t *quota(void)
{
    static int64_t *shared; /* any thread finds the same */
    int64_t *at = __atomic_load_n(&shared, __ATOMIC_RELAXED);
    const char *path = getenv("SLOW_QUOTA");
    if (at || !path)
        return at;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *map =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED)
        abort();
    __atomic_store_n(&shared, map, __ATOMIC_RELAXED);
    return map;
}

/* Takes a turn, and returns how long it is until it is over. */
static long turn_us(void)
{
    int64_t *used = quota(), us = number("SLOW_QUOTA_US", 0);
    if (!used || us <= 0)
        return 0;
    int64_t now = now_us(), before = __atomic_load_n(used, __ATOMIC_RELAXED), until;
    do
        until = (before > now ? before : now) + us;
    while (
        !__atomic_compare_exchange_n(used, &before, until, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (long)(until - now);
}

ssize_t pread(int fd, void *dst, size_t n, off_t offset)
{
    static pread_fn *real; /* any thread finds the same */
    pread_fn *fn = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (!fn) {
        *(void **)&fn = dlsym(RTLD_NEXT, "pread");
        __atomic_store_n(&real, fn, __ATOMIC_RELAXED);
    }
    ssize_t got = fn(fd, dst, n, offset);
    if (got > 0 && is_slow(fd)) {
        long us = number("SLOW_LATENCY_US", 0) + got / number("SLOW_BYTES_PER_US", 1000000),
             turn = turn_us();
        us = turn > us ? turn : us;
        const struct timespec wait = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
        nanosleep(&wait, NULL);
    }
    return got;
}

/* Who does not want to wait is told that he would have to. */
ssize_t preadv2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
    static preadv2_fn *real; /* any thread finds the same */
    preadv2_fn *fn = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if ((flags & RWF_NOWAIT) && is_slow(fd)) {
        errno = EAGAIN;
        return -1;
    }
    if (!fn) {
        *(void **)&fn = dlsym(RTLD_NEXT, "preadv2");
        __atomic_store_n(&real, fn, __ATOMIC_RELAXED);
    }
    return fn(fd, parts, n, offset, flags);
}

ssize_t pread64(int fd, void *dst, size_t n, off64_t offset)
{
    return pread(fd, dst, n, offset);
}
