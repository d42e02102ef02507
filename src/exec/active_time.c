/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/active_time.h"

#include "base/compiler.h"

static void count(struct cw_active_time *active, int64_t now_ns)
{
    if (active->inside_n > 0 && now_ns > active->since_ns)
        (void)atomic_fetch_add_explicit(&active->ns, (uint64_t)(now_ns - active->since_ns),
                                        memory_order_relaxed);
    active->since_ns = now_ns;
}

void cw_active_time_enter(struct cw_active_time *active, int64_t now_ns)
{
    count(active, now_ns);
    active->inside_n++;
}

void cw_active_time_leave(struct cw_active_time *active, int64_t now_ns)
{
    CW_ASSERT(active->inside_n > 0);
    count(active, now_ns);
    active->inside_n--;
}
