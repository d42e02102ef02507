/* SPDX-License-Identifier: Apache-2.0 */
/* base/clock.h on virtual time: in place of src/base/clock.c. */
#include "base/clock.h"

#include "sim.h"

#define WALL_MS INT64_C(1700000000000) /* when every world begins */

int64_t cw_clock_ns(void)
{
    return sim_now_ns();
}

int64_t cw_clock_ms(void)
{
    return sim_now_ns() / 1000000;
}

int64_t cw_clock_boot_ms(void)
{
    return sim_now_ns() / 1000000;
}

int64_t cw_clock_wall_ms(void)
{
    return WALL_MS + sim_now_ns() / 1000000;
}

/* There is no CPU time here: what passes is taken for it. */
int64_t cw_clock_thread_cpu_ns(void)
{
    return sim_now_ns();
}

int64_t cw_clock_process_cpu_ns(void)
{
    return sim_now_ns();
}

void cw_clock_sleep_ns(int64_t ns)
{
    sim_sleep_ns(ns);
}
