/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Use the monotonic clock, and wall time only for what outlives the process. */
#ifndef CW_BASE_CLOCK_H
#define CW_BASE_CLOCK_H

#include "base/compiler.h"

int64_t cw_clock_ns(void); /* CLOCK_MONOTONIC */
int64_t cw_clock_ms(void);
int64_t cw_clock_wall_ms(void); /* since 1970 */
int64_t cw_clock_thread_cpu_ns(void);
int64_t cw_clock_process_cpu_ns(void);
/* Only where blocking is the purpose: operator sleep, and retries outside of loop threads. */
void cw_clock_sleep_ns(int64_t ns);

#endif
