/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lease/. */
#ifndef CW_DISPATCHER_LEASE_LEASE_INT_H
#define CW_DISPATCHER_LEASE_LEASE_INT_H

#include "dispatcher/lease/lease.h"

/* ---- lease.c ---- */
/* A lease on paper: added to the share and to epoch->leased. to: one of the share, not sent yet,
 * that the items join; NULL = a new one. */
struct cw_lease *cw_lease_add(struct cw_share *share, struct cw_epoch *epoch,
                              const struct cw_set *items, struct cw_lease *to, bool hedge);

/* ---- send.c ---- */
/* On paper; the message goes out with cw_lease_send, at the end of a filling, or when something
 * does not fit into it. Of shared jobs it is stored first whose the items are: the message goes
 * out with cw_lease_send_stored, once it is. */
void cw_lease_give(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items,
                   bool hedge, uint32_t consumer);
void cw_lease_send(struct cw_share *share);
/* shared: the filling is over: writes whose the items are that it gave */
void cw_lease_store_owners(struct cw_job *job);

/* ---- hedge.c ---- */
/* This worker has nothing to do, and there is nothing free: it computes as well
 * what is late elsewhere. The first copy wins. */
void cw_lease_hedge(struct cw_share *share, int64_t now);

#endif
