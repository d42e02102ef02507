/* SPDX-License-Identifier: Apache-2.0 */
/* Items that the dispatcher leased to this worker for one job and that are not begun yet. Leases
 * are sorted by their lowest pending item, and the lowest item of all is begun first: the client
 * delivers outputs in order, so no other choice serves it earlier. Loop thread. */
#ifndef CW_WORKER_MODEL_LEASE_H
#define CW_WORKER_MODEL_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/interval.h"
#include "cachew/v1/fleet.pb-c.h"

struct cw_wjob;
struct cw_wtask;

/* The name of a lease, which the dispatcher chooses: its generation and a counter. */
struct cw_lease_id {
    uint64_t generation, counter;
};
/* The items of one lease that have not begun. A lease without pending items is removed. */
struct cw_wlease {
    struct cw_lease_id id;
    uint64_t epoch;
    uint32_t consumer;     /* shared jobs only: the consumer that gets the outputs */
    uint64_t client_id;    /* the only client that gets them; 0: any client of the consumer */
    struct cw_set pending; /* never empty */
};

/* Adds the items of a Lease message. Items that this worker holds already, or that the job does
 * not have, are left out. */
void cw_wlease_add(struct cw_wjob *job, const Cachew__V1__Lease *lease, const struct cw_set *items);
/* Drops those of the items of an epoch that are pending: they are neither pending nor held afterwards. */
void cw_wlease_revoke(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items);
/* Returns the lowest pending item; false if nothing is pending. */
bool cw_wlease_peek(const struct cw_wjob *job, uint64_t *ret_epoch, uint64_t *ret_item);
/* Moves the lowest pending item into the task: its epoch, item, lease and consumer are set. There
 * must be a pending item. The item stays held. */
void cw_wlease_take(struct cw_wjob *job, struct cw_wtask *task);
/* Does the same with this item, which must be pending. */
void cw_wlease_take_item(struct cw_wjob *job, uint64_t epoch, uint64_t item, struct cw_wtask *task);
/* Makes the task's item pending again, after an attempt that failed for lack of memory. */
void cw_wlease_put_back(struct cw_wjob *job, const struct cw_wtask *task);
/* Frees all leases of the job. What is held does not change. */
void cw_wlease_clear(struct cw_wjob *job);

#endif
