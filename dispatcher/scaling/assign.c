/* SPDX-License-Identifier: Apache-2.0 */
/* Which workers a job has. As little as possible is changed: a job keeps its workers, and new ones
 * are those with the most time left. A fair share that is no whole number means some whole workers
 * and a part of another's time, which the job shares with other jobs (time_slices.c). A job without
 * a policy and without a limit is not assigned any workers: it uses all, each for a part of its
 * time. */
#include <math.h>
#include <stdlib.h>

#include "dispatcher/scaling/least_loaded.h"
#include "dispatcher/scaling/scaling_int.h"

/* A job that has to do with more than this part of the fleet looks for workers in a list. */
#define SHARES_FEW 8
#define LITTLE 0.05 /* A part of a worker's time that is not worth another worker. */
/* A worker that no client of the job has reached for so long is replaced. */
#define UNREACHED_MS 3000

/* One assignment of the whole fleet. */
struct pass {
    struct cw_dispatcher *d;
    int64_t now;
    struct cw_least_loaded fleet; /* It is filled when a job first looks for workers. */
    bool filled;
};

static void set_assigned(struct pass *pass, struct cw_share *share, bool on)
{
    share->assigned = on;
    if (pass->filled)
        cw_least_loaded_changed(&pass->fleet, share->worker);
}

static void assign(struct pass *pass, struct cw_job *job, struct cw_worker *w, bool on)
{
    struct cw_share *share = cw_share_get(job, w);
    cw_accounting_worker(w, pass->now);
    set_assigned(pass, share, on);
    cw_accounting_worker(w, pass->now);
    share->assigned_done_n = share->done_n;
    if (job->scaling)
        cw_scaling_changed(job, pass->now);
    cw_job_leases_due(job);
    job->d->due.slices = true;
    cw_job_worker_list_due(job);
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
           !cw_other_files_is_barred(job, w) && cw_worker_has_operators(w, job, NULL) &&
           (!full || tenant_has(job->tenant, w)) && !(share && cw_unreachable_bars(share, now));
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
        list[n] = (struct candidate){.worker = w, .load = cw_worker_load(w), .rank = n};
        n++;
    }
    qsort(list, n, sizeof(*list), by_load);
    *ret_n = n;
    return list;
}

/* Whether the heap finds workers for the job. What it passes over are workers that the job has, or
 * cannot use; and those that its tenant does not have, once that has all that it may have. */
static bool uses_heap(const struct cw_job *job)
{
    return job->tenant->limits.max_workers == CW_NO_LIMIT &&
           job->shares_by_worker.n <= job->d->workers_n / SHARES_FEW;
}

/* Takes the next worker for the job out of the heap; NULL if there is none. */
static struct cw_worker *take_next(struct pass *pass, const struct cw_job *job)
{
    struct cw_worker *w;
    if (!pass->filled)
        cw_least_loaded_fill(&pass->fleet, pass->d);
    pass->filled = true;
    do
        w = cw_least_loaded_take(&pass->fleet);
    while (w && !may_take(job, w, false, pass->now));
    return w;
}

/* Picks the worker to assign next: the one with the most time left; NULL if there is none. */
static struct cw_worker *pick_worker_to_add(struct pass *pass, const struct cw_job *job)
{
    struct cw_worker *best = NULL;
    if (uses_heap(job)) {
        best = take_next(pass, job);
        cw_least_loaded_put_back(&pass->fleet);
        return best;
    }
    bool full = tenant_is_full(job);
    for (struct cw_worker *w = job->d->workers; w; w = w->next)
        if (may_take(job, w, full, pass->now) &&
            (!best || cw_worker_load(w) < cw_worker_load(best)))
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
        double load = cw_worker_load(share->worker);
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

/* Whether the worker is found to see other files, or lacks operators that the job turned out to need. */
static bool serves_no_more(const struct cw_share *share)
{
    return share->barred || !cw_worker_has_operators(share->worker, share->job, NULL);
}

static void drop(struct pass *pass, struct cw_job *job, uint32_t due)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->assigned && (!cw_worker_is_usable(share->worker) ||
                                (serves_no_more(share) && cw_worker_serves_any_job(share->worker))))
            assign(pass, job, share->worker, false);
    /* After a restart a job keeps the workers that say that they hold its items, until its trainer
     * is back. */
    for (count(job); job->assigned_n > due && job->hold_until_ms == 0; count(job))
        assign(pass, job, pick_worker_to_drop(job), false);
}

static void take_from_heap(struct pass *pass, struct cw_job *job, uint32_t due)
{
    struct cw_worker *w;
    for (uint32_t missing = due - job->assigned_n;
         missing > 0 && (w = take_next(pass, job)) != NULL; missing--)
        assign(pass, job, w, true);
    cw_least_loaded_put_back(&pass->fleet);
    count(job);
}

/* Looks at the fleet once for all workers that the job lacks; but for a tenant with a limit once for
 * each, since every worker that it is assigned changes which ones are left to it. */
static void take_from_list(struct pass *pass, struct cw_job *job, uint32_t due)
{
    bool limited = job->tenant->limits.max_workers != CW_NO_LIMIT;
    for (bool any = true; any && job->assigned_n < due; count(job)) {
        size_t n = 0, missing = limited ? 1 : due - job->assigned_n;
        cw_autofree struct candidate *list = list_candidates(job, pass->now, &n);
        for (size_t i = 0; i < CW_MIN(n, missing); i++)
            assign(pass, job, list[i].worker, true);
        any = n > 0;
    }
}

static void take(struct pass *pass, struct cw_job *job, uint32_t due)
{
    if (job->assigned_n >= due)
        return;
    if (uses_heap(job))
        take_from_heap(pass, job, due);
    else
        take_from_list(pass, job, due);
}

/* Replaces a worker that the job's clients cannot reach by another one. Without another it stays, and
 * the clients go on trying. */
static void replace_unreachable(struct pass *pass, struct cw_job *job)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        int64_t now = pass->now;
        const struct cw_unreachable *report = cw_unreachable_any(share, now);
        if (!report || !share->assigned || share->worker->only_job[0] != '\0' ||
            now - report->since_ms < UNREACHED_MS || !cw_unreachable_bars(share, now))
            continue;
        struct cw_worker *to = pick_worker_to_add(pass, job);
        if (!to)
            return;
        assign(pass, job, share->worker, false);
        assign(pass, job, to, true);
        count(job);
        return;
    }
}

/* Replaces a worker that has too much to do by one that has time. At most one is replaced in a
 * call, because other jobs may replace theirs as well. */
static void rebalance(struct pass *pass, struct cw_job *job)
{
    struct cw_worker *from = pick_worker_to_drop(job);
    double load = from ? cw_worker_load(from) : 0;
    if (load <= 1 + LITTLE)
        return;
    set_assigned(pass, cw_share_find(job, from), false);
    struct cw_worker *to = pick_worker_to_add(pass, job);
    set_assigned(pass, cw_share_find(job, from), true);
    if (!to || cw_worker_load(to) + job->worker_time > load - LITTLE)
        return;
    assign(pass, job, from, false);
    assign(pass, job, to, true);
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
    struct pass pass = {.d = d, .now = now};
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        uint32_t due = workers_due(job);
        job->worker_time = due > 0 ? CW_MIN(job->granted / due, 1) : 0;
        /* Limits may have changed. */
        if (job->clients && job->lists_all != cw_job_uses_all_workers(job))
            cw_job_worker_list_due(job);
        drop(&pass, job, due);
    }
    for (struct cw_job *job = d->jobs; job; job = job->next)
        take(&pass, job, workers_due(job));
    for (struct cw_job *job = d->jobs; job; job = job->next)
        replace_unreachable(&pass, job);
    for (struct cw_job *job = d->jobs; job; job = job->next)
        rebalance(&pass, job);
    cw_least_loaded_fini(&pass.fleet);
    if (d->due.slices) {
        cw_time_slices_make(d);
        add_extra_workers(d);
    }
    d->due.slices = false;
    return wanted;
}
