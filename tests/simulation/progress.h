/* SPDX-License-Identifier: Apache-2.0 */
/* There is progress: when nothing fails any more, a trainer that can take a batch gets it. So do
 * those that wait for no other, while one consumer of their job stands still, is stopped or dead. */
#ifndef SIM_PROGRESS_H
#define SIM_PROGRESS_H

#include "cluster.h"

/* Fails the world if a trainer has waited for too long. */
void sim_check_progress(struct sim_cluster *cluster);
/* When the faults have ended: in some worlds one of several consumers stays behind for a while. */
void sim_lag_begin(struct sim_cluster *cluster);

/* What was seen of a fault: each trainer is given a batch after it, and then comes the next one. */
struct sim_watch {
    int64_t since_ns; /* when the fault was over; 0: none is waited for */
    int64_t next_ns;
    const char *what;
    uint64_t batches[SIM_SEATS_MAX]; /* of each seat, when it struck */
};
/* A fault has struck, and is over after pause_ns. */
void sim_watch_begin(struct sim_watch *watch, const struct sim_cluster *cluster, const char *what,
                     int64_t pause_ns);
/* Whether all have gone on; fails the world if they take too long. */
bool sim_watch_is_over(struct sim_watch *watch, const struct sim_cluster *cluster);

#endif
