/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with the store of the cache and with the dispatcher's disk, and commands about
 * the cache: chosen by a generator of their own, so that other faults are as without them. */
#ifndef SIM_STORE_FAULTS_H
#define SIM_STORE_FAULTS_H

#include "faults.h"

struct sim_store_faults {
    const struct sim_cluster *cluster;
    uint64_t state;
    int64_t most_ns, next_ns;
};
void sim_store_faults_init(struct sim_store_faults *faults, const struct sim_cluster *cluster);
/* Whether one is due now. */
bool sim_store_faults_due(struct sim_store_faults *faults, struct sim_fault *ret);
/* Whether it is one of those, and doing it. */
bool sim_is_store_fault(enum sim_fault_kind kind);
bool sim_store_fault_do(struct sim_cluster *cluster, const struct sim_fault *fault);

#endif
