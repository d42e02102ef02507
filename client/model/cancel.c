/* SPDX-License-Identifier: Apache-2.0 */
#include "client/model/cancel.h"

#include <stdatomic.h>
#include "base/clock.h"
#include "base/mem.h"

struct cachew_cancel {
    atomic_bool set;
};
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may set it");

struct cachew_cancel *cachew_cancel_new(void)
{
    return CW_NEW(struct cachew_cancel);
}

void cachew_cancel_set(struct cachew_cancel *cancel)
{
    if (cancel)
        atomic_store_explicit(&cancel->set, true, memory_order_relaxed);
}

void cachew_cancel_free(struct cachew_cancel *cancel)
{
    cw_mem_free(cancel);
}

bool cw_cancel_is_set(const struct cachew_cancel *cancel)
{
    return cancel && atomic_load_explicit(&cancel->set, memory_order_relaxed);
}

void cw_cancel_wait(const struct cachew_cancel *cancel, struct cw_cond *cond,
                    struct cw_mutex *mutex, int64_t deadline_ns)
{
    int64_t look_ns = cw_clock_ns() + CW_CANCEL_LOOK_MS * 1000000ll;
    (void)cw_cond_wait_until(cond, mutex, cancel ? CW_MIN(deadline_ns, look_ns) : deadline_ns);
}
