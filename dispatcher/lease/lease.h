/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes which items: leases are given, shrink and end. This is the face of lease/.
 *
 *   allocate.c  who gets which items, and when
 *   send.c      leases on their way to workers, and the job itself before its first one
 *   lease.c     a lease on paper: added, received, computed, taken back
 *   hedge.c     a second lease of what is late */
#ifndef CW_DISPATCHER_LEASE_LEASE_H
#define CW_DISPATCHER_LEASE_LEASE_H

#include "dispatcher/model/model.h"

/* ---- allocate.c ---- */
/* Gives free items to workers that have too little to do. */
void cw_lease_fill_all(struct cw_dispatcher *d);

/* ---- send.c ---- */
/* leases of shared jobs whose items' owners are stored by now */
void cw_lease_send_stored(struct cw_dispatcher *d);

/* ---- lease.c ---- */
void cw_lease_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
void cw_lease_done(struct cw_share *share, const Cachew__V1__Progress__Done *done);
/* Takes items away from a share (NULL = all it holds of the job), so that they are free again;
 * the worker is told if tell. */
void cw_lease_free(struct cw_share *share, uint64_t epoch, const struct cw_set *items, bool tell);
void cw_lease_free_all(struct cw_share *share, bool tell);
void cw_lease_free_job(struct cw_job *job); /* of all workers, and tells them */
void cw_lease_adopt(struct cw_worker *worker, const Cachew__V1__HeldLease *held);
void cw_share_remove(struct cw_share *share);

#endif
