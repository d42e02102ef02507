/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by lease*.c, window.c and item_faults.c. */
#ifndef CW_DISPATCHER_LEASE_H
#define CW_DISPATCHER_LEASE_H

#include "base/str.h"
#include "dispatcher/model/model.h"

/* A lease on paper: added to the share and to epoch->leased. to: one of the share, not sent yet,
 * that the items join; NULL = a new one. */
struct cw_lease *cw_lease_add(struct cw_share *share, struct cw_epoch *epoch,
                              const struct cw_set *items, struct cw_lease *to, bool hedge);

/* send.c */
/* On paper; the message goes out with cw_lease_send, at the end of a filling, or when something
 * does not fit into it. Of shared jobs it is stored first whose the items are: the message goes
 * out with cw_lease_send_stored, once it is. */
void cw_lease_give(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items,
                   bool hedge, uint32_t consumer);
void cw_lease_send(struct cw_share *share);
/* shared: the filling is over: writes whose the items are that it gave */
void cw_lease_store(struct cw_job *job);

/* hedge.c: this worker has nothing to do, and there is nothing free: it computes as well
 * what is late elsewhere. The first copy wins. */
void cw_lease_hedge(struct cw_share *share, int64_t now);

/* window.c */
void cw_share_first_target(struct cw_share *share);
/* done_n: items in done */
void cw_share_retarget(struct cw_share *share, const Cachew__V1__Progress__Done *done,
                       uint64_t done_n, int64_t now);

/* window_end.c: one consumer of a sparse job. Items are counted from the beginning of the first
 * open epoch. */
struct cw_window_place {
    uint64_t received; /* the first item that it has not received */
    uint64_t ready;    /* finished batches that wait for its trainer, as last told; not known = 0 */
    uint64_t epoch, batches; /* where it stands: the next batch of all consumers */
    bool here;               /* somebody holds its place */
};
/* The end of the window of a sparse job: a window beyond the lowest unconsumed item; and for
 * each consumer that has no finished batch a window beyond what it has received; but of one that
 * is ahead by a step of all consumers not further than a window beyond what one that is away has
 * received, and not while one has many batches waiting. */
uint64_t cw_window_end(uint64_t unconsumed, uint64_t window, const struct cw_window_place *places,
                       size_t n);
uint64_t cw_job_window_end(struct cw_job *job); /* of any job, from its sets */

/* idle_watch.c: it has workers, somebody waits, and nothing is leased; ret_reason: what it waits for. */
bool cw_job_stands(struct cw_job *job, struct cw_str *ret_reason);

/* same_function.c: jobs of the same function, whose items a worker computes once
 * (worker/compute/batch_dedup.h) */
void cw_sibling_join(struct cw_job *job); /* the function is known */
void cw_sibling_leave(struct cw_job *job);
/* leased */
void cw_sibling_note(struct cw_share *share, uint64_t epoch, const struct cw_set *items);
void cw_sibling_forget(struct cw_share *share);
/* Whether the share may have run->lo; run is cut where the answer changes. No: another worker
 * had it for a sibling. Idle: not even then, when that one has enough to do. */
bool cw_sibling_allows(const struct cw_share *share, uint64_t epoch, struct cw_interval *run,
                       bool idle);
/* allocate.c: how many items the share may get now. Hole: they were lost elsewhere. */
uint64_t cw_share_room(const struct cw_share *share, bool hole);

/* item_faults.c */
/* received: no trouble after all */
void cw_trouble_settled(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
/* How many items from run->lo on the worker may get: 0 = not this one, another worker should
 * try; 1 = alone. Cuts before the next. */
uint64_t cw_trouble_allows(const struct cw_share *share, uint64_t epoch,
                           const struct cw_interval *run);

#endif
