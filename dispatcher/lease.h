/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by lease.c, lease_fill.c, window.c and trouble.c. */
#ifndef CW_DISPATCHER_LEASE_H
#define CW_DISPATCHER_LEASE_H

#include "dispatcher/dispatcher.h"

/* A lease on paper: added to the share and to epoch->leased. */
void cw_lease_add(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items, bool hedge);

/* window.c */
void cw_share_first_target(struct cw_share *share);
void cw_share_retarget(struct cw_share *share, uint64_t done_n, uint64_t computed_n, uint64_t wall_ns, uint64_t bytes, int64_t now);

/* sibling.c: jobs of the same function, whose items a worker computes once (worker/window.h) */
void cw_sibling_join(struct cw_job *job); /* the function is known */
void cw_sibling_leave(struct cw_job *job);
void cw_sibling_note(struct cw_share *share, uint64_t epoch, const struct cw_set *items); /* leased */
void cw_sibling_forget(struct cw_share *share);
/* Whether the share may have run->lo; run is cut where the answer changes. No: another worker had it for a sibling. Idle: not even then,
 * when that one has enough to do. */
bool cw_sibling_allows(const struct cw_share *share, uint64_t epoch, struct cw_interval *run, size_t jobs_n, bool idle);
/* lease_fill.c: how many items the share may get now. Hole: they were lost elsewhere. */
uint64_t cw_share_room(const struct cw_share *share, size_t jobs_n, bool hole);

/* trouble.c */
void cw_trouble_settled(struct cw_job *job, uint64_t epoch, const struct cw_set *items); /* received: no trouble after all */
/* How many items from run->lo on the worker may get: 0 = not this one, another worker should try; 1 = alone. Cuts before the next. */
uint64_t cw_trouble_allows(const struct cw_share *share, uint64_t epoch, const struct cw_interval *run);

#endif
