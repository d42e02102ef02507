/* SPDX-License-Identifier: Apache-2.0 */
/* In place of src/base/fault.c: the seed says what happens at a point. */
#include "base/fault.h"

#include "sim.h"

#ifdef CW_FAULTS

atomic_int cw_fault_state = 1;

void cw_fault_pass(const char *name)
{
    sim_point_pass(name);
}

bool cw_fault_ask(const char *name)
{
    return sim_point_ask(name);
}

#else
typedef int cw_fault_unused; /* ISO C wants a declaration */
#endif
