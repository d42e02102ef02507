/* SPDX-License-Identifier: Apache-2.0 */
/* In place of src/base/fault.c: the seed says what happens at a point. */
#include "base/fault.h"

#include "sim.h"

#ifdef CW_FAULTS

atomic_int cw_fault_state = 1;

/* When a world is done with its faults, the points are as in a program of a user. */
static bool is_on(void)
{
    if (!sim_points_are_on())
        atomic_store(&cw_fault_state, 0);
    return sim_points_are_on();
}

void cw_fault_pass(const char *name)
{
    if (is_on())
        sim_point_pass(name);
}

bool cw_fault_ask(const char *name)
{
    return is_on() && sim_point_ask(name);
}

#else
typedef int cw_fault_unused; /* ISO C wants a declaration */
#endif
