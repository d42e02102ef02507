/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds in which somebody changes the plans of all jobs again and again, at any moment: rows of one item come
 * from several plans then. It takes no number from the world's chance. */
#ifndef SIM_REPLANS_H
#define SIM_REPLANS_H

#include "cluster.h"

/* In the new world, until that time. *taken counts the plans that were accepted; it outlives the world. */
void sim_replans_begin(uint64_t seed, struct sim_cluster *cluster, int64_t until_ns,
                       uint64_t *taken);

#endif
