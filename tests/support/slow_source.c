/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: reads of files below SLOW_SOURCE take SLOW_LATENCY_US more each, and 1 us more for
 * each SLOW_BYTES_PER_US bytes: a stand-in for a network file system whose kernel cache has
 * nothing. It slows each reader by itself: several are not slowed by each other. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

typedef ssize_t pread_fn(int fd, void *dst, size_t n, off_t offset);

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
        long us = number("SLOW_LATENCY_US", 0) + got / number("SLOW_BYTES_PER_US", 1000000);
        const struct timespec wait = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
        nanosleep(&wait, NULL);
    }
    return got;
}

ssize_t pread64(int fd, void *dst, size_t n, off64_t offset)
{
    return pread(fd, dst, n, offset);
}
