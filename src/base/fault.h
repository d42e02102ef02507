/* SPDX-License-Identifier: Apache-2.0 */
/* Fault points, for tests. With CACHEW_FAULT="name:N" in the environment the process kills itself
 * with SIGKILL when it passes that point for the N-th time ("any" counts every point). Without
 * CW_FAULTS they do nothing.
 *
 * At a rare point (cw_fault_rare) the code asks whether it is to take a branch that it would
 * seldom take by itself. The answer is no, but in the simulation (tests/simulation), whose seeds
 * choose points and moments. The branch must be one that the protocol allows at any time. */
#ifndef CW_BASE_FAULT_H
#define CW_BASE_FAULT_H

#include "base/compiler.h"

#ifdef CW_FAULTS
#include <stdatomic.h>
#include <stdbool.h>
extern atomic_int cw_fault_state; /* -1: the environment was not read yet; 0: off; 1: armed */
void cw_fault_pass(const char *name);
bool cw_fault_ask(const char *name);
#define cw_fault_point(name)                                                                       \
    do {                                                                                           \
        if (CW_UNLIKELY(atomic_load_explicit(&cw_fault_state, memory_order_acquire)))              \
            cw_fault_pass(name);                                                                   \
    } while (0)
#define cw_fault_rare(name)                                                                        \
    (CW_UNLIKELY(atomic_load_explicit(&cw_fault_state, memory_order_acquire)) && cw_fault_ask(name))
#else
#define cw_fault_point(name) ((void)0)
#define cw_fault_rare(name) false
#endif

#endif
