/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of lease/ share. */
#ifndef CW_DISPATCHER_LEASE_LEASE_INT_H
#define CW_DISPATCHER_LEASE_LEASE_INT_H

#include "dispatcher/lease/lease.h"

/* ---- late_items.c ---- */
/* At the beginning of a fill: finds out how long the job's fastest worker takes for an item. */
void cw_lease_find_fastest(struct cw_job *job, int64_t now);
/* Returns the first item that the worker can have computed when it is needed, counted from the
 * beginning of the first open epoch; 0 if it may have any. */
uint64_t cw_lease_least(const struct cw_share *share);
/* Whether the worker, which is too slow for all items of the window, is to be given the last of them,
 * since it has computed nothing for long: it may be slow no more. */
bool cw_lease_is_to_be_tried(const struct cw_share *share, int64_t now);

/* ---- lease.c ---- */
/* Records a lease without sending it: the items join the share and epoch->leased. `to` is the
 * share's unsent lease that the items join; NULL creates a new one. */
struct cw_lease *cw_lease_add(struct cw_share *share, struct cw_epoch *epoch,
                              const struct cw_set *items, struct cw_lease *to, bool hedge);

/* ---- send.c ---- */
/* Records a lease. Its message is sent by cw_lease_send at the end of the fill, or as soon as
 * something does not fit into it. In a shared job the owner of the items must be stored first, so
 * cw_lease_send_stored sends the message. */
void cw_lease_give(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items,
                   bool hedge, uint32_t consumer);
void cw_lease_send(struct cw_share *share);
/* Shared jobs, at the end of a fill: writes the owners of the items that the fill leased. */
void cw_lease_store_owners(struct cw_job *job);

/* ---- hedge.c ---- */
/* The worker of the share is idle and no item is free: it is leased items that are late on another
 * worker. Whichever output comes first is used. */
void cw_lease_hedge(struct cw_share *share, int64_t now);

#endif
