/* SPDX-License-Identifier: Apache-2.0 */
/* Stop flags: reference counts, checks, and sleeping until a flag is set. */
#include "base/stop.h"

#include "base/clock.h"
#include "base/mem.h"

/* The interval at which a sleeper checks the flag: its cost cannot be measured, and nobody waits
 * long. */
#define LOOK_NS INT64_C(20000000)

struct cw_stop *cw_stop_new(void)
{
    struct cw_stop *stop = CW_NEW(struct cw_stop);
    stop->looks = CW_NEW(_Atomic uint64_t);
    atomic_store(&stop->refs, 1);
    return stop;
}

struct cw_stop *cw_stop_ref(struct cw_stop *stop)
{
    atomic_fetch_add_explicit(&stop->refs, 1, memory_order_relaxed);
    return stop;
}

struct cw_stop *cw_stop_unref(struct cw_stop *stop)
{
    if (stop && atomic_fetch_sub_explicit(&stop->refs, 1, memory_order_acq_rel) == 1) {
        cw_mem_free(stop->looks);
        cw_mem_free(stop);
    }
    return NULL;
}

void cw_stop_set(struct cw_stop *stop)
{
    atomic_store_explicit(&stop->is_set, true, memory_order_relaxed);
}

uint64_t cw_stop_looks(const struct cw_stop *stop)
{
    return atomic_load_explicit(stop->looks, memory_order_relaxed);
}

int cw_stop_check(const struct cw_stop *stop, struct cw_err *err)
{
    if (stop && stop->looks)
        atomic_fetch_add_explicit(stop->looks, 1, memory_order_relaxed);
    return cw_stop_is_set(stop)
               ? cw_err_set(err, CW_E_CANCELLED, "cancelled: nobody wants it any more")
               : 0;
}

int cw_stop_sleep_ns(const struct cw_stop *stop, int64_t ns, struct cw_err *err)
{
    int64_t end = cw_clock_ns() + ns;
    for (int64_t left = ns; left > 0 && !cw_stop_is_set(stop); left = end - cw_clock_ns())
        cw_clock_sleep_ns(stop ? CW_MIN(left, LOOK_NS) : left);
    return cw_stop_check(stop, err);
}
