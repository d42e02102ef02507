/* SPDX-License-Identifier: Apache-2.0 */
/* A share: one worker with regard to one job, with the leases that the worker holds of the job. */
#ifndef CW_DISPATCHER_MODEL_SHARE_H
#define CW_DISPATCHER_MODEL_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/interval.h"
#include "dispatcher/model/config.h"

struct cw_job;
struct cw_unreachable; /* The struct is defined in model/unreachable.h. */
struct cw_worker;

struct cw_lease {
    struct cw_lease *next; /* The next lease of the share; the oldest is first. */
    uint64_t counter;
    uint64_t epoch;
    struct cw_set items; /* The items that are neither received nor handed back. */
    struct cw_set todo;  /* The items of the lease that were not reported as computed. */
    int64_t given_ms;
    bool hedge;        /* The items are leased to another worker as well. */
    bool full;         /* The lease has CW_LEASE_MAX items, so no more join it. */
    uint32_t consumer; /* Shared jobs: the consumer that owns the items. */
    /* Shared jobs: the lease is sent when all writes up to this number are stored; 0 if it was
     * sent. */
    uint64_t after_seq;
};

/* The items of an epoch that were leased to a worker, received or not. The worker may still have
 * their outputs for another job of the same function. */
struct cw_lease_history {
    uint64_t epoch;
    struct cw_set items;
};

struct cw_share {
    struct cw_share *next_of_job, *prev_of_job, *next_of_worker, *prev_of_worker;
    struct cw_job *job;
    struct cw_worker *worker;
    struct cw_lease *leases;
    bool spec_sent;
    /* The worker has the job: it was sent its JobSpec, or has said so in its hello. It is told to
     * forget the job when that is over. */
    bool has_job;
    /* The number of items that are not computed yet, over all leases of the share. */
    uint64_t todo_n;
    uint64_t target;         /* The number of items that the worker should have to compute. */
    uint64_t fill_allowance; /* During a fill: how many items the share may still get. */
    /* During a fill: the allowance was extended, so that lost items are computed again at once. */
    bool fill_extended;
    /* During a fill: the lease that items join, which is not sent yet. */
    struct cw_lease *fill_lease;
    bool fill_complete; /* The last fill gave the share as many items as it was allowed. */
    bool assigned;      /* The worker is assigned to the job (scaling/assign.c). */
    double worker_time; /* The part of the worker's time that the job's fair share needs. */
    /* The fraction of the worker's threads and memory that the job gets while other jobs want them;
     * 0 if it is not known yet. */
    double slice;
    double slice_sent;
    int64_t charged_ms;       /* the time up to which it was charged for; 0: it was not used then */
    uint64_t assigned_done_n; /* The value of done_n when the worker was assigned. */
    double rate; /* The items that the worker completes per second; 0 if that is not known. */
    /* The time from the start of an item to its end; 0 if that is not known. */
    double item_ns;
    int64_t done_ms; /* The time of the worker's last report of completed items. */
    /* When it was last tried although it is too slow (lease/late_items.c), and whether nothing has
     * shown since that it takes less than item_ns. */
    int64_t tried_ms;
    bool tried;
    /* The consumers that cannot reach the worker (model/unreachable.h). */
    struct cw_unreachable *unreachable;
    /* The item that the worker has computed for longest, as it reported last, and since when; 0 if
     * it is not slow. slow_at: it is not computed yet, since the worker opens the sources, and is
     * at this file. */
    uint64_t slow_epoch, slow_item;
    int64_t slow_since_ms, slow_heard_ms;
    char *slow_at;
    /* The worker sees other files than the job was prepared with, so nothing is leased to it
     * (model/other_files.h). */
    bool barred;
    /* The worker's last message about the other files that it sees; NULL if there is none. */
    char *other_files;
    int64_t barred_ms; /* The time since which the worker is barred. */
    uint64_t done_n;
    /* What was leased in each of the latest epochs. */
    struct cw_lease_history history[CW_HISTORY_EPOCHS];
};

struct cw_share *cw_share_get(struct cw_job *job, struct cw_worker *worker);
struct cw_share *cw_share_find(const struct cw_job *job, const struct cw_worker *worker);
/* Takes the share out of the lists and the map of its job and its worker, however long they are. */
void cw_share_unlink(struct cw_share *share);
/* Returns whether the worker may get leases of the job. */
bool cw_share_serves(const struct cw_share *share);
/* Returns whether the worker may get leases and the job wants workers now. */
bool cw_share_is_used(const struct cw_share *share);
double cw_share_slice(const struct cw_share *share);
/* Returns the number of items that the worker should have to compute, in the part of its time that
 * belongs to the job. */
uint64_t cw_share_target(const struct cw_share *share);
/* Returns how many items the share may get. `hole`: the items were leased before and lost with
 * another worker. */
uint64_t cw_share_allowance(const struct cw_share *share, bool hole);

#endif
