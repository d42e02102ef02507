/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what is being done is still wanted. Set once, by any thread; walks, scans and waits
 * look at it now and then and end with CANCELLED. So how often they have looked says whether
 * they come on. */
#ifndef CW_BASE_STOP_H
#define CW_BASE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

/* Zeroed = not set. On the heap it is counted. */
struct cw_stop {
    _Atomic bool is_set;
    _Atomic unsigned refs;
    _Atomic uint64_t *looks; /* NULL: not counted, as of one that is not on the heap */
};
struct cw_stop *cw_stop_new(void) CW_MUST_CHECK; /* one ref */
struct cw_stop *cw_stop_ref(struct cw_stop *stop);
struct cw_stop *cw_stop_unref(struct cw_stop *stop); /* NULL; accepts NULL */

void cw_stop_set(struct cw_stop *stop);
/* NULL: nobody can stop it. */
static inline bool cw_stop_is_set(const struct cw_stop *stop)
{
    return stop && atomic_load_explicit(&stop->is_set, memory_order_relaxed);
}
/* How often cw_stop_check was asked, of one on the heap: steps of what it may stop. */
uint64_t cw_stop_looks(const struct cw_stop *stop);
/* CANCELLED if it is set. */
int cw_stop_check(const struct cw_stop *stop, struct cw_err *err);
/* Sleeps so long, or until it is set (noticed within some milliseconds): then CANCELLED. */
int cw_stop_sleep_ns(const struct cw_stop *stop, int64_t ns, struct cw_err *err);

#endif
