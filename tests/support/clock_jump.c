/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: the wall clock jumps by hours, forth and back, every 300 ms of real time. Other
 * clocks are left alone. */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#pragma GCC visibility push(default)

typedef int gettime_fn(clockid_t clock, struct timespec *ret_time);

static int real_gettime(clockid_t clock, struct timespec *ret_time)
{
    static gettime_fn *real; /* any thread finds the same */
    gettime_fn *fn = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (!fn) {
        *(void **)&fn = dlsym(RTLD_NEXT, "clock_gettime");
        __atomic_store_n(&real, fn, __ATOMIC_RELAXED);
    }
    return fn(clock, ret_time);
}

static int64_t jump_s(void)
{
    static const int64_t hours[] = {0, 5, -3, 1, 0, -20, 100, -1, 2, 0, -50, 7};
    struct timespec now;
    real_gettime(CLOCK_MONOTONIC, &now);
    int64_t step = ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000) / 300;
    return 3600 * hours[step % (int64_t)(sizeof(hours) / sizeof(hours[0]))];
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    int rc = real_gettime(clock, ret_time);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret_time->tv_sec += jump_s();
    return rc;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    (void)zone;
    struct timespec now;
    int rc = clock_gettime(CLOCK_REALTIME, &now);
    ret_time->tv_sec = now.tv_sec;
    ret_time->tv_usec = now.tv_nsec / 1000;
    return rc;
}

time_t time(time_t *ret_time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time)
        *ret_time = now.tv_sec;
    return now.tv_sec;
}
