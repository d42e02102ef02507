/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. The monotonic clock is used everywhere, except that wall time is used for what outlives
 * the process. */
#ifndef CW_BASE_CLOCK_H
#define CW_BASE_CLOCK_H

#include "base/compiler.h"

int64_t cw_clock_ns(void); /* CLOCK_MONOTONIC */
int64_t cw_clock_ms(void);
/* CLOCK_BOOTTIME: goes on while the host sleeps, for promises that others count by their own clocks. */
int64_t cw_clock_boot_ms(void);
int64_t cw_clock_wall_ms(void); /* milliseconds since 1970 */
int64_t cw_clock_thread_cpu_ns(void);
int64_t cw_clock_process_cpu_ns(void);
/* Sleeps. It is used only where blocking is the purpose: in the operator sleep, and for retries
 * outside of loop threads. */
void cw_clock_sleep_ns(int64_t ns);

#endif
