/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that a service did not expect, in one world of so many: a stranger, which says to
 * dispatchers and workers what no client and no worker says; and a liar, which is dispatcher and
 * worker in one and says to a worker and a trainer of its own what no dispatcher says. Besides, a
 * trainer whose job has no name is cut off for longer than a dispatcher keeps such a job. Nothing of
 * it may change what the trainers of the world get. */
#ifndef SIM_STRANGERS_H
#define SIM_STRANGERS_H

#include "cluster.h"

/* What actors of these are told; world memory. */
struct sim_stranger {
    const struct sim_cluster *cluster; /* NULL: its dispatcher is the liar */
    const char *dispatcher;
    int acts; /* so many things it does */
};

/* Whether they come to the world of this seed. */
bool sim_strangers_come(uint64_t seed, const struct sim_cluster *cluster);
/* Whether everybody may do everything in that world, with or without a token. */
bool sim_strangers_find_it_open(uint64_t seed, const struct sim_cluster *cluster);
/* From now on they come to each world that is not calm. */
void sim_strangers_always_come(void);
/* Whether they say all that they can, which they do where they always come: in other worlds they say
 * what they said when the seeds that are stored were found. Also in actors. */
__attribute__((visibility("default"))) bool sim_strangers_say_all(void);
/* Starts them, if the world has any: after all others. */
void sim_strangers_begin(uint64_t seed, struct sim_cluster *cluster);
/* They are gone; they have ended in order if they could. */
void sim_strangers_end(void);

#endif
