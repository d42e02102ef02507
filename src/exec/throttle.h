/* SPDX-License-Identifier: Apache-2.0 */
/* Limits CPU time with a token bucket, which fills with real time and may go into debt. The caller
 * holds a lock. */
#ifndef CW_EXEC_THROTTLE_H
#define CW_EXEC_THROTTLE_H

#include <stdint.h>

struct cw_throttle { /* zeroed: there is no limit */
    double cpus;
    double left_ns; /* CPU time that may be used now; negative: a debt */
    int64_t at_ns;  /* when left_ns was computed (cw_clock_ns) */
};
void cw_throttle_init(struct cw_throttle *throttle, double cpus, int64_t now_ns);
void cw_throttle_spend(struct cw_throttle *throttle, int64_t cpu_ns);
/* Returns 0 if work may begin, otherwise the time (cw_clock_ns) at which it may. */
int64_t cw_throttle_until(struct cw_throttle *throttle);
/* The same for a given time, for tests. */
int64_t cw_throttle_until_at(struct cw_throttle *throttle, int64_t now_ns);

#endif
