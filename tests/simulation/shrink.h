/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest schedule of faults with which a world still fails. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "faults.h"

/* Runs the world with the schedule; does not return when it fails (sim_fail). */
typedef void sim_shrink_run(void *arg, struct sim_schedule *schedule);
/* Prints what the failing world says, and the faults that it needs. False: it does not fail. */
bool sim_shrink(sim_shrink_run *run, void *arg);

#endif
