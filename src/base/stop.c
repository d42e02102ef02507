/* SPDX-License-Identifier: Apache-2.0 */
/* Stop flags: reference counts, checks, and sleeping until a flag is set. */
#include "base/stop.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdio.h>
#include <string.h>

/* The interval at which a sleeper checks the flag: its cost cannot be measured, and nobody waits
 * long. */
#define LOOK_NS INT64_C(20000000)

struct cw_stop_progress {
    _Atomic uint64_t looks; /* number of checks */
    struct cw_mutex mutex;
    char at[CW_STOP_AT_BYTES]; /* `mutex` guards it */
};

struct cw_stop *cw_stop_new(void)
{
    struct cw_stop *stop = CW_NEW(struct cw_stop);
    stop->progress = CW_NEW(struct cw_stop_progress);
    cw_mutex_init(&stop->progress->mutex);
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
        cw_mutex_fini(&stop->progress->mutex);
        cw_mem_free(stop->progress);
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
    return atomic_load_explicit(&stop->progress->looks, memory_order_relaxed);
}

int cw_stop_check(const struct cw_stop *stop, struct cw_err *err)
{
    if (stop && stop->progress)
        atomic_fetch_add_explicit(&stop->progress->looks, 1, memory_order_relaxed);
    return cw_stop_is_set(stop)
               ? cw_err_set(err, CW_E_CANCELLED, "cancelled: nobody wants it any more")
               : 0;
}

int cw_stop_check_at(const struct cw_stop *stop, const char *at, struct cw_err *err)
{
    struct cw_stop_progress *progress = stop ? stop->progress : NULL;
    if (progress) {
        size_t n = strlen(at), skip = n < CW_STOP_AT_BYTES ? 0 : n - CW_STOP_AT_BYTES + 4;
        cw_mutex_lock(&progress->mutex);
        snprintf(progress->at, sizeof(progress->at), "%s%s", skip > 0 ? "..." : "", at + skip);
        cw_mutex_unlock(&progress->mutex);
    }
    return cw_stop_check(stop, err);
}

void cw_stop_at(const struct cw_stop *stop, char *at)
{
    cw_mutex_lock(&stop->progress->mutex);
    memcpy(at, stop->progress->at, CW_STOP_AT_BYTES);
    cw_mutex_unlock(&stop->progress->mutex);
}

int cw_stop_sleep_ns(const struct cw_stop *stop, int64_t ns, struct cw_err *err)
{
    int64_t end = cw_clock_ns() + ns;
    for (int64_t left = ns; left > 0 && !cw_stop_is_set(stop); left = end - cw_clock_ns())
        cw_clock_sleep_ns(stop ? CW_MIN(left, LOOK_NS) : left);
    return cw_stop_check(stop, err);
}
