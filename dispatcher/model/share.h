/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker has of a job: a share, with its leases. */
#ifndef CW_DISPATCHER_MODEL_SHARE_H
#define CW_DISPATCHER_MODEL_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/interval.h"
#include "dispatcher/model/config.h"

struct cw_job;
struct cw_worker;

struct cw_lease {
    struct cw_lease *next; /* of the share, oldest first */
    uint64_t counter;
    uint64_t epoch;
    struct cw_set items; /* not received, not handed back */
    struct cw_set todo;  /* of these: not reported as computed */
    int64_t given_ms;
    bool hedge;        /* the items are leased to another worker too */
    bool full;         /* no more items join it */
    uint32_t consumer; /* shared jobs: whose they are */
    /* shared jobs: it is sent when all that was written up to here is stored; 0 = it is sent */
    uint64_t after_seq;
};

/* what a worker was leased of an epoch, received or not: of this it may have the results for
 * another job */
struct cw_lease_history {
    uint64_t epoch;
    struct cw_set items;
};

struct cw_share { /* of a worker in a job */
    struct cw_share *next_of_job, *next_of_worker;
    struct cw_job *job;
    struct cw_worker *worker;
    struct cw_lease *leases;
    bool spec_sent;
    uint64_t todo_n;             /* items, over all leases */
    uint64_t target;             /* items it should have to do */
    uint64_t fill_allowance;     /* of the fill under way: what it may still get */
    bool fill_extended;          /* of the fill under way: it got more, for a hole */
    struct cw_lease *fill_lease; /* of the fill under way */
    bool fill_complete;          /* the last fill reached the target */
    bool assigned;               /* scaling.h: the worker is one of the job's */
    double worker_time;          /* of the worker's, as much as its share needs */
    /* of the worker's time and memory, of those jobs that use it; 0 = not known yet */
    double slice;
    double slice_sent;
    uint64_t assigned_done_n;     /* done_n then */
    double rate;                  /* items per second, 0 = unknown */
    int64_t done_ms;              /* when it last reported something */
    int64_t unreachable_until_ms; /* a client cannot reach the worker: no leases until then */
    bool barred;                  /* other_files.h: the worker sees other files: no leases */
    char *other_files;            /* what it said of that, last; NULL = nothing */
    int64_t barred_ms;            /* when */
    uint64_t done_n;
    struct cw_lease_history history[CW_HISTORY_EPOCHS]; /* the latest epochs */
};

struct cw_share *cw_share_get(struct cw_job *job, struct cw_worker *worker);
struct cw_share *cw_share_find(const struct cw_job *job, const struct cw_worker *worker);
bool cw_share_serves(const struct cw_share *share);  /* the worker is one of the job's */
bool cw_share_is_used(const struct cw_share *share); /* and the job wants workers now */
double cw_share_slice(const struct cw_share *share);
/* Items that it should have to do, of the part of the worker's time that is the job's. */
uint64_t cw_share_target(const struct cw_share *share);
/* allocate.c: how many items the share may get now. Hole: they were lost elsewhere. */
uint64_t cw_share_allowance(const struct cw_share *share, bool hole);

#endif
