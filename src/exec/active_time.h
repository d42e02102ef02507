/* SPDX-License-Identifier: Apache-2.0 */
/* The time in which at least one thread of a pool works on a plan: what Cachew (ATC 2022) calls active
 * time. */
#ifndef CW_EXEC_ACTIVE_TIME_H
#define CW_EXEC_ACTIVE_TIME_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* The pool's lock guards it, but for ns. */
struct cw_active_time {
    size_t inside_n;     /* So many threads work on the plan. */
    int64_t since_ns;    /* When that number last changed. */
    _Atomic uint64_t ns; /* The sum. */
};
/* A thread begins to work on the plan, or ends, at the time `now_ns`. */
void cw_active_time_enter(struct cw_active_time *active, int64_t now_ns);
void cw_active_time_leave(struct cw_active_time *active, int64_t now_ns);

#endif
