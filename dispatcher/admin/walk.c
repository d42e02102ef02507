/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/admin/walk.h"

/* So many others that are looked at for an object cost as much as the object itself. */
#define OTHERS 64
/* A job is only asked whether it uses all workers. */
#define OTHER_JOBS (8 * OTHERS)

static void list_tenants(struct cw_walk *walk)
{
    const char *name;
    void *value;
    walk->tenants = CW_NEW_ARRAY(char *, walk->d->tenants.n + 1);
    for (size_t i = 0; cw_strmap_next(&walk->d->tenants, &i, &name, &value);)
        walk->tenants[walk->tenants_n++] = cw_mem_strdup(name);
}

static void list_jobs(struct cw_walk *walk)
{
    walk->jobs = CW_NEW_ARRAY(char *, walk->d->jobs_n + 1);
    for (const struct cw_job *job = walk->d->jobs; job; job = job->next)
        walk->jobs[walk->jobs_n++] = cw_mem_strdup(job->id);
}

/* The worker behind the last one that was noted and is still there. */
static const struct cw_worker *next_to_note(const struct cw_walk *walk)
{
    for (size_t i = walk->workers_n; i > 0; i--) {
        const struct cw_worker *worker = cw_map_get(&walk->d->workers_by_id, walk->workers[i - 1]);
        if (worker)
            return worker->next;
    }
    return walk->d->workers;
}

/* Who has come since the walk began is left out, and so are those who come back: they may be noted
 * already. */
static void note_workers(struct cw_walk *walk)
{
    const struct cw_worker *w = next_to_note(walk);
    /* (Only those that are noted count: the next part begins behind the last of them.) */
    for (size_t n = 0; w && n < CW_WALK_NOTED; w = w->next)
        if (w->said_hello && w->since_ms <= walk->begun_ms && walk->workers_n < walk->workers_cap) {
            walk->workers[walk->workers_n++] = w->id;
            n++;
        }
    walk->noting = w && walk->workers_n < walk->workers_cap;
}

static void begin_noting(struct cw_walk *walk)
{
    walk->workers_cap = walk->d->workers_n;
    walk->begun_ms = cw_clock_ms();
    walk->workers = CW_NEW_ARRAY(uint64_t, walk->workers_cap + 1);
    walk->noting = true;
}

/* Each returns what the object has cost. */
static size_t visit_tenant(struct cw_walk *walk, size_t i)
{
    const struct cw_tenant *tenant = cw_strmap_get(&walk->d->tenants, walk->tenants[i]);
    if (tenant)
        walk->on_tenant(walk, tenant);
    return 1 + walk->d->jobs_n / OTHERS;
}

static size_t visit_job(struct cw_walk *walk, size_t i)
{
    struct cw_job *job = cw_strmap_get(&walk->d->jobs_by_id, walk->jobs[i]);
    if (!job)
        return 1;
    walk->on_job(walk, job);
    return 1 + job->shares_by_worker.n / OTHERS;
}

static size_t visit_worker(struct cw_walk *walk, size_t i)
{
    const struct cw_worker *worker = cw_map_get(&walk->d->workers_by_id, walk->workers[i]);
    if (worker)
        walk->on_worker(walk, worker);
    return 1 + walk->d->jobs_n / OTHER_JOBS;
}

static size_t visit(struct cw_walk *walk, size_t i)
{
    if (i < walk->tenants_n)
        return visit_tenant(walk, i);
    i -= walk->tenants_n;
    return i < walk->jobs_n ? visit_job(walk, i) : visit_worker(walk, i - walk->jobs_n);
}

static void end(struct cw_walk *walk, bool all)
{
    for (size_t i = 0; i < walk->tenants_n; i++)
        cw_mem_free(walk->tenants[i]);
    for (size_t i = 0; i < walk->jobs_n; i++)
        cw_mem_free(walk->jobs[i]);
    cw_mem_free(walk->tenants);
    cw_mem_free(walk->jobs);
    cw_mem_free(walk->workers);
    walk->done(walk, all);
}

/* Returns whether there are more. */
static bool walk_slice(struct cw_walk *walk)
{
    if (walk->noting)
        note_workers(walk);
    if (walk->noting)
        return true;
    size_t n = walk->tenants_n + walk->jobs_n + walk->workers_n;
    for (size_t cost = 0; walk->next < n && cost < CW_WALK_SLICE; walk->next++)
        cost += visit(walk, walk->next);
    return walk->next < n;
}

static void go_on(void *arg)
{
    struct cw_walk *walk = arg;
    if (walk->d->exited) {
        end(walk, false);
        return;
    }
    int64_t begin = cw_clock_thread_cpu_ns();
    bool more = walk_slice(walk);
    if (walk->call)
        cw_call_note_time(walk->call, cw_clock_thread_cpu_ns() - begin);
    if (more)
        cw_loop_post(walk->d->loop, go_on, walk);
    else
        end(walk, true);
}

void cw_walk_begin(struct cw_walk *walk)
{
    if (walk->on_tenant)
        list_tenants(walk);
    if (walk->on_job)
        list_jobs(walk);
    if (walk->on_worker)
        begin_noting(walk);
    if (walk_slice(walk))
        cw_loop_post(walk->d->loop, go_on, walk);
    else
        end(walk, true);
}
