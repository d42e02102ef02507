/* SPDX-License-Identifier: Apache-2.0 */
/* Which worker computes which items: leases are given, shrink and end. This is the face of lease/.
 *
 *   allocate.c  which worker gets which items, and when
 *   send.c      sends leases to workers, and the job itself before its first lease
 *   lease.c     the bookkeeping: items join a lease, and leave it when received, computed or freed
 *   hedge.c     second leases of items that are late
 *   late_items.c  which items come too late from a slow worker */
#ifndef CW_DISPATCHER_LEASE_LEASE_H
#define CW_DISPATCHER_LEASE_LEASE_H

#include "dispatcher/model/model.h"

/* ---- allocate.c ---- */
/* Runs a fill: free items are leased to the workers that have too little to do. */
void cw_lease_fill_all(struct cw_dispatcher *d);

/* ---- send.c ---- */
/* Sends the leases of shared jobs whose items' owners are stored by now. */
void cw_lease_send_stored(struct cw_dispatcher *d);

/* ---- lease.c ---- */
void cw_lease_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
void cw_lease_done(struct cw_share *share, const Cachew__V1__Progress__Done *done);
/* Takes items away from a share, so that they are free again. With `tell` the worker is sent
 * Revoke. cw_lease_free_all takes everything that the share holds. */
void cw_lease_free(struct cw_share *share, uint64_t epoch, const struct cw_set *items, bool tell);
void cw_lease_free_all(struct cw_share *share, bool tell);
/* Takes away the items that the consumer, whose client cannot reach the worker, is to receive, and
 * tells the worker. */
void cw_lease_free_consumer(struct cw_share *share, uint32_t consumer);
/* Frees the leases of all shares of the job, and tells their workers. */
void cw_lease_free_job(struct cw_job *job);
void cw_lease_adopt(struct cw_worker *worker, const Cachew__V1__HeldLease *held);
void cw_share_remove(struct cw_share *share);

#endif
