/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers each of several Deployments should have. They are filled cheapest first and emptied
 * dearest first. Pods that have waited for too long do not count as workers, and their Deployment is
 * asked for no more of them; what it lacks goes to the next one. They stay asked for, since a cluster
 * may grow because of them: when they come, dearer ones go. Pure functions. */
#ifndef CW_POLICIES_DEPLOYMENTS_H
#define CW_POLICIES_DEPLOYMENTS_H

#include <stdbool.h>
#include "base/err.h"

#define CW_DEPLOYMENT_NAME_BYTES 254

struct cw_deployment {
    char name[CW_DEPLOYMENT_NAME_BYTES];
    uint64_t max; /* the most pods; UINT64_MAX: no limit of its own */
    double price; /* of a worker for an hour */
    /* ---- what is seen of it ---- */
    uint64_t replicas; /* pods that are asked for */
    uint64_t waiting;  /* of these, those that have waited for too long; at most replicas */
    bool held;         /* nothing is written to it: its number is taken as it is */
};
/* Reads "NAME[,max=N][,price=P]". price: what it has if none is given. INVALID: the message names the
 * part that is wrong. */
int cw_deployment_parse(const char *text, double price, struct cw_deployment *ret_deployment,
                        struct cw_err *err);
/* Sets ret_replicas[i] to the pods that Deployment i should be asked for, so that there are so many
 * workers. */
void cw_deployments_spread(const struct cw_deployment *deployments, size_t n, uint64_t workers,
                           uint64_t *ret_replicas);
/* Finds the Deployment that the next worker would come from; n: there is none. */
size_t cw_deployments_next(const struct cw_deployment *deployments, size_t n);

#endif
