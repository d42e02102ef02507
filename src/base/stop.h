/* SPDX-License-Identifier: Apache-2.0 */
/* A stop flag: it says that the result of some work is not wanted any more. Any thread sets it,
 * once; code that walks, scans or waits checks it now and then, and ends with CANCELLED. The number
 * of checks shows whether the work makes progress. */
#ifndef CW_BASE_STOP_H
#define CW_BASE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"

#define CW_STOP_AT_BYTES 256

/* A zeroed flag is not set. A flag on the heap is refcounted. */
struct cw_stop {
    _Atomic bool is_set;
    _Atomic unsigned refs;
    /* how far the work is; NULL: that is not noted, since the flag is not on the heap */
    struct cw_stop_progress *progress;
};
struct cw_stop *cw_stop_new(void) CW_MUST_CHECK; /* with one reference */
struct cw_stop *cw_stop_ref(struct cw_stop *stop);
struct cw_stop *cw_stop_unref(struct cw_stop *stop); /* returns NULL; accepts NULL */

void cw_stop_set(struct cw_stop *stop);
/* stop may be NULL: then the work cannot be stopped. */
static inline bool cw_stop_is_set(const struct cw_stop *stop)
{
    return stop && atomic_load_explicit(&stop->is_set, memory_order_relaxed);
}
/* Returns the number of calls of cw_stop_check, for a flag on the heap: a measure of progress. */
uint64_t cw_stop_looks(const struct cw_stop *stop);
/* Returns CANCELLED if the flag is set. */
int cw_stop_check(const struct cw_stop *stop, struct cw_err *err);
/* The same, at this file or directory of the work. */
int cw_stop_check_at(const struct cw_stop *stop, const char *at, struct cw_err *err);
/* Writes to `at`, which has room for CW_STOP_AT_BYTES bytes, where the work of a flag on the heap
 * was at the last cw_stop_check_at; "" if there was none. A long path lacks its beginning. Any
 * thread. */
void cw_stop_at(const struct cw_stop *stop, char *at);
/* Sleeps so long, or until the flag is set, which is noticed within milliseconds and gives
 * CANCELLED. */
int cw_stop_sleep_ns(const struct cw_stop *stop, int64_t ns, struct cw_err *err);

#endif
