/* SPDX-License-Identifier: Apache-2.0 */
/* Which workers a job has. As little as possible is changed: a job keeps its workers, and new ones
 * are those with the most time left. A fair share that is no whole number means some whole workers
 * and a part of another's time, which the job shares with other jobs (time_slices.c). A job without
 * a policy and without a limit is not assigned any workers: it uses all, each for a part of its
 * time. */
#include <math.h>
#include <stdlib.h>

#include "dispatcher/scaling/scaling_int.h"

#define LITTLE 0.05 /* A part of a worker's time that is not worth another worker. */
/* A worker that no client of the job has reached for so long is replaced. */
#define UNREACHED_MS 3000

/* Returns how much of the worker's time the jobs need that it is assigned to. */
static double load_of(const struct cw_worker *w)
{
    double load = 0;
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        load += share->assigned ? share->job->worker_time : 0;
    return load;
}

static void assign(struct cw_job *job, struct cw_worker *w, bool on, int64_t now)
{
    struct cw_share *share = cw_share_get(job, w);
    share->assigned = on;
    share->assigned_done_n = share->done_n;
    if (job->scaling)
        cw_scaling_changed(job, now);
    job->due.leases = true;
    job->d->due.slices = job->d->due.worker_lists = true;
}

static bool is_assigned(const struct cw_job *job, const struct cw_worker *w)
{
    const struct cw_share *share = cw_share_find(job, w);
    return share && share->assigned;
}

static bool tenant_has(const struct cw_tenant *tenant, const struct cw_worker *w)
{
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        if (share->assigned && share->job->tenant == tenant)
            return true;
    return false;
}

/* Returns whether the tenant has as many workers as it may have. Its jobs then share these. */
static bool tenant_is_full(const struct cw_job *job)
{
    uint64_t n = 0, most = job->tenant->limits.max_workers;
    for (const struct cw_worker *w = most != CW_NO_LIMIT ? job->d->workers : NULL; w; w = w->next)
        n += w->only_job[0] == '\0' && tenant_has(job->tenant, w);
    return n >= most;
}

/* A worker that could be assigned to the job. */
struct candidate {
    struct cw_worker *worker;
    double load;
    size_t rank; /* Of workers with the same load the first of the fleet is assigned. */
};

static int by_load(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->load < y->load || x->load > y->load)
        return x->load < y->load ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Returns whether the worker could be assigned to the job; full is tenant_is_full(job). */
static bool may_take(const struct cw_job *job, const struct cw_worker *w, bool full, int64_t now)
{
    const struct cw_share *share = cw_share_find(job, w);
    return cw_worker_serves_any_job(w) && !is_assigned(job, w) &&
           !cw_other_files_is_barred(job, w) && (!full || tenant_has(job->tenant, w)) &&
           !(share && cw_unreachable_bars(share, now));
}

/* Lists all workers that could be assigned, those with the most time left first. The caller frees
 * the list. */
static struct candidate *list_candidates(const struct cw_job *job, int64_t now, size_t *ret_n)
{
    bool full = tenant_is_full(job);
    struct candidate *list = CW_NEW_ARRAY(struct candidate, job->d->workers_n + 1);
    size_t n = 0;
    for (struct cw_worker *w = job->d->workers; w; w = w->next) {
        if (!may_take(job, w, full, now))
            continue;
        list[n] = (struct candidate){.worker = w, .load = load_of(w), .rank = n};
        n++;
    }
    qsort(list, n, sizeof(*list), by_load);
    *ret_n = n;
    return list;
}

/* Picks the worker to assign next: the one with the most time left; NULL if there is none. */
static struct cw_worker *pick_worker_to_add(const struct cw_job *job, int64_t now)
{
    bool full = tenant_is_full(job);
    struct cw_worker *best = NULL;
    for (struct cw_worker *w = job->d->workers; w; w = w->next)
        if (may_take(job, w, full, now) && (!best || load_of(w) < load_of(best)))
            best = w;
    return best;
}

/* Picks the worker to give up next: the one with the least time for the job. */
static struct cw_worker *pick_worker_to_drop(const struct cw_job *job)
{
    struct cw_worker *best = NULL;
    double best_load = 0;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->assigned || !cw_worker_serves_any_job(share->worker))
            continue;
        double load = load_of(share->worker);
        if (!best || load > best_load) {
            best = share->worker;
            best_load = load;
        }
    }
    return best;
}

/* Returns how many workers make up the job's fair share. */
static uint32_t workers_due(const struct cw_job *job)
{
    double most = (double)CW_MIN(cw_job_max_workers(job), (uint64_t)UINT32_MAX);
    if (job->granted <= 0 || cw_job_uses_all_workers(job))
        return 0;
    if (!job->scaling)
        return (uint32_t)CW_MIN((double)job->d->workers_n, most);
    return (uint32_t)CW_MIN(CW_MAX(ceil(job->granted - LITTLE), 1) + job->has_extra, most);
}

static void count(struct cw_job *job)
{
    struct cw_scaling *s = job->scaling;
    uint32_t n = 0, local = 0, serving = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->assigned)
            continue;
        if (share->worker->only_job[0] != '\0')
            local++;
        else
            n++;
        serving += share->done_n > share->assigned_done_n;
    }
    job->assigned_n = n;
    if (s) {
        s->local_n = local;
        s->serving_n = serving;
    }
}

static void drop(struct cw_job *job, uint32_t due, int64_t now)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->assigned && (!cw_worker_is_usable(share->worker) ||
                                (share->barred && cw_worker_serves_any_job(share->worker))))
            assign(job, share->worker, false, now);
    /* After a restart a job keeps the workers that say that they hold its items, until its trainer
     * is back. */
    for (count(job); job->assigned_n > due && job->hold_until_ms == 0; count(job))
        assign(job, pick_worker_to_drop(job), false, now);
}

/* Looks at the fleet once for all workers that the job lacks; but for a tenant with a limit once for
 * each, since every worker that it is assigned changes which ones are left to it. */
static void take(struct cw_job *job, uint32_t due, int64_t now)
{
    bool limited = job->tenant->limits.max_workers != CW_NO_LIMIT;
    for (bool any = true; any && job->assigned_n < due; count(job)) {
        size_t n = 0, missing = limited ? 1 : due - job->assigned_n;
        cw_autofree struct candidate *list = list_candidates(job, now, &n);
        for (size_t i = 0; i < CW_MIN(n, missing); i++)
            assign(job, list[i].worker, true, now);
        any = n > 0;
    }
}

/* Replaces a worker that the job's clients cannot reach by another one. Without another it stays, and
 * the clients go on trying. */
static void replace_unreachable(struct cw_job *job, int64_t now)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        const struct cw_unreachable *report = cw_unreachable_any(share, now);
        if (!report || !share->assigned || share->worker->only_job[0] != '\0' ||
            now - report->since_ms < UNREACHED_MS || !cw_unreachable_bars(share, now))
            continue;
        struct cw_worker *to = pick_worker_to_add(job, now);
        if (!to)
            return;
        assign(job, share->worker, false, now);
        assign(job, to, true, now);
        count(job);
        return;
    }
}

/* Replaces a worker that has too much to do by one that has time. At most one is replaced in a
 * call, because other jobs may replace theirs as well. */
static void rebalance(struct cw_job *job, int64_t now)
{
    struct cw_worker *from = pick_worker_to_drop(job);
    double load = from ? load_of(from) : 0;
    if (load <= 1 + LITTLE)
        return;
    cw_share_find(job, from)->assigned = false;
    struct cw_worker *to = pick_worker_to_add(job, now);
    cw_share_find(job, from)->assigned = true;
    if (!to || load_of(to) + job->worker_time > load - LITTLE)
        return;
    assign(job, from, false, now);
    assign(job, to, true, now);
    count(job);
}

/* The workers of a job may lack the time for its whole share while others have some. Then the job
 * gets one more at the next assignment. */
static void add_extra_workers(struct cw_dispatcher *d)
{
    double spare = 0;
    for (const struct cw_worker *w = d->workers; w; w = w->next)
        spare = CW_MAX(spare, cw_worker_serves_any_job(w) ? 1 - cw_time_slices_of_worker(w) : 0);
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        if (!job->scaling || job->has_extra || spare <= LITTLE ||
            job->granted - cw_time_slices_of_job(job) <= LITTLE)
            continue;
        job->has_extra = d->due.assignment = true;
    }
}

double cw_scaling_assign(struct cw_dispatcher *d, int64_t now)
{
    d->due.slices = d->due.slices || d->due.assignment;
    d->due.assignment = false;
    double wanted = cw_fair_shares_make(d);
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        uint32_t due = workers_due(job);
        job->worker_time = due > 0 ? CW_MIN(job->granted / due, 1) : 0;
        drop(job, due, now);
    }
    for (struct cw_job *job = d->jobs; job; job = job->next)
        take(job, workers_due(job), now);
    for (struct cw_job *job = d->jobs; job; job = job->next)
        replace_unreachable(job, now);
    for (struct cw_job *job = d->jobs; job; job = job->next)
        rebalance(job, now);
    if (d->due.slices) {
        cw_time_slices_make(d);
        add_extra_workers(d);
    }
    d->due.slices = false;
    return wanted;
}
