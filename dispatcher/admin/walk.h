/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over all tenants, jobs and workers, which may be thousands: a part of them in each
 * iteration of the loop, so that nobody waits for all of it. Those that come meanwhile are left out,
 * and those that go are passed over. Loop thread. */
#ifndef CW_DISPATCHER_ADMIN_WALK_H
#define CW_DISPATCHER_ADMIN_WALK_H

#include "dispatcher/model/model.h"

/* So much is done in an iteration: some 3 ms of CPU time with 10,000 workers and 1,000 jobs. What an
 * object costs: 1, and more the more others are looked at for it (walk.c). */
#define CW_WALK_SLICE 40
/* So many workers are noted in an iteration: who there is, before any is visited. */
#define CW_WALK_NOTED 512

/* Embedded by whoever walks; it is zeroed, and the fields above the line are set. */
struct cw_walk {
    struct cw_dispatcher *d;
    struct cw_call *call; /* whose time it is, while it is not answered; NULL: nobody's */
    /* Called for each object, of one kind after the other. NULL: this kind is not walked. */
    void (*on_tenant)(struct cw_walk *walk, const struct cw_tenant *tenant);
    void (*on_job)(struct cw_walk *walk, struct cw_job *job);
    void (*on_worker)(struct cw_walk *walk, const struct cw_worker *worker);
    /* Called once, at the end. `all` is false if the dispatcher has ended before. */
    void (*done)(struct cw_walk *walk, bool all);
    /* ---- of walk.c ---- */
    char **tenants, **jobs;
    uint64_t *workers;
    size_t tenants_n, jobs_n, workers_n, workers_cap;
    int64_t begun_ms;
    bool noting; /* not all workers are noted yet */
    size_t next; /* how many of all of them were passed */
};
/* Begins, and walks the first part. The walk may be over when this returns. */
void cw_walk_begin(struct cw_walk *walk);

#endif
