/* SPDX-License-Identifier: Apache-2.0 */
/* Fault points, for tests. With CACHEW_FAULT="name:N" in the environment the process kills itself
 * with SIGKILL when it passes that point for the N-th time ("any" counts every point). Without
 * CW_FAULTS they do nothing. */
#ifndef CW_BASE_FAULT_H
#define CW_BASE_FAULT_H

#include "base/compiler.h"

#ifdef CW_FAULTS
#include <stdatomic.h>
extern atomic_int cw_fault_state; /* -1: the environment was not read yet; 0: off; 1: armed */
void cw_fault_pass(const char *name);
#define cw_fault_point(name)                                                                       \
    do {                                                                                           \
        if (CW_UNLIKELY(atomic_load_explicit(&cw_fault_state, memory_order_acquire)))              \
            cw_fault_pass(name);                                                                   \
    } while (0)
#else
#define cw_fault_point(name) ((void)0)
#endif

#endif
