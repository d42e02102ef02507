/* SPDX-License-Identifier: Apache-2.0 */
/* The token bucket that limits CPU time. */
#include "exec/throttle.h"

#include "base/clock.h"
#include "base/compiler.h"

/* ns of CPU time that may be saved up while the threads are idle, for a limit of one CPU; it is
 * proportional to the limit */
#define BURST_NS 20e6

void cw_throttle_init(struct cw_throttle *t, double cpus, int64_t now_ns)
{
    *t = (struct cw_throttle){.cpus = cpus, .at_ns = now_ns};
}

void cw_throttle_spend(struct cw_throttle *t, int64_t cpu_ns)
{
    t->left_ns -= (double)cpu_ns;
}

int64_t cw_throttle_until_at(struct cw_throttle *t, int64_t now_ns)
{
    if (t->cpus <= 0)
        return 0;
    double filled = t->left_ns + (double)(now_ns - t->at_ns) * t->cpus;
    t->left_ns = CW_MIN(filled, BURST_NS * t->cpus);
    t->at_ns = now_ns;
    return t->left_ns >= 0 ? 0 : now_ns + 1 + (int64_t)(-t->left_ns / t->cpus);
}

int64_t cw_throttle_until(struct cw_throttle *t)
{
    return t->cpus > 0 ? cw_throttle_until_at(t, cw_clock_ns()) : 0;
}
