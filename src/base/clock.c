/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the system's clocks. */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec ts;

    CW_ASSERT(clock_gettime(clock, &ts) == 0);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t cw_clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t cw_clock_ms(void)
{
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t cw_clock_boot_ms(void)
{
    return read_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t cw_clock_wall_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t cw_clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t cw_clock_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void cw_clock_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    int64_t end = cw_clock_ns() + ns;
    struct timespec ts = {.tv_sec = (time_t)(end / 1000000000),
                          .tv_nsec = (long)(end % 1000000000)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
        ;
}
