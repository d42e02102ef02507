/* SPDX-License-Identifier: Apache-2.0 */
/* How long a thread was ready to run and had no CPU, because other threads or processes had them or
 * because a quota of the process was used up. The kernel counts it (/proc/self/task/ID/schedstat).
 */
#ifndef CW_BASE_RUN_DELAY_H
#define CW_BASE_RUN_DELAY_H

#include <stdint.h>

/* Returns the kernel's id of the calling thread. */
int cw_run_delay_thread(void);
/* Returns the ns for which a thread of this process has waited for a CPU since it began; 0 if the
 * kernel does not say it. Any thread may call it. */
uint64_t cw_run_delay_ns(int thread);
/* Returns the second number of the text of schedstat, or 0, for tests. */
uint64_t cw_run_delay_parse(const char *schedstat);

#endif
