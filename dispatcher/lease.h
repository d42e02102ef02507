/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by lease.c, lease_fill.c, window.c and trouble.c. */
#ifndef CW_DISPATCHER_LEASE_H
#define CW_DISPATCHER_LEASE_H

#include "dispatcher/dispatcher.h"

/* A lease on paper: added to the share and to epoch->leased. */
void cw_lease_add(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items, bool hedge);

/* window.c */
void cw_share_first_target(struct cw_share *share);
void cw_share_retarget(struct cw_share *share, uint64_t done_n, uint64_t wall_ns, uint64_t bytes, int64_t now);

/* trouble.c */
void cw_trouble_settled(struct cw_job *job, uint64_t epoch, const struct cw_set *items); /* received: no trouble after all */
/* How many items from run->lo on the worker may get: 0 = not this one, another worker should try; 1 = alone. Cuts before the next. */
uint64_t cw_trouble_allows(const struct cw_share *share, uint64_t epoch, const struct cw_interval *run);

#endif
