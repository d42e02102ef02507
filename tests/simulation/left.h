/* SPDX-License-Identifier: Apache-2.0 */
/* What is left when all jobs have ended. */
#ifndef SIM_LEFT_H
#define SIM_LEFT_H

#include "cluster.h"

/* Ends all faults, and runs the world until no process has anything of jobs that are over. Fails it
 * if that takes too long. */
void sim_settle(struct sim_cluster *cluster);
/* What processes have of named caches that no job uses, or, with `detached`, of caches that were
 * detached; NULL: nothing. */
const char *sim_left_of_caches(const struct sim_cluster *cluster, bool detached);
/* The dispatcher that serves; NULL: there is none now. */
const struct sim_seat *sim_serving(const struct sim_cluster *cluster);

#endif
