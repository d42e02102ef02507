/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/share.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "base/mem.h"

#define NOTHING 1e-9

struct filling {
    const struct cw_share_tenant *tenants;
    const struct cw_share_job *jobs;
    size_t tenants_n, jobs_n;
    double *got;        /* a job */
    double *up_to;      /* a job: what it may have in this round */
    double *tenant_got; /* a tenant */
    double *active;     /* a tenant: weights of its jobs that still take */
};

static bool takes(const struct filling *f, size_t j)
{
    const struct cw_share_tenant *t = &f->tenants[f->jobs[j].tenant];
    return f->up_to[j] - f->got[j] > NOTHING && (t->most <= 0 || t->most - f->tenant_got[f->jobs[j].tenant] > NOTHING);
}

/* Weights of tenants that have a job that takes; fills active. */
static double count_active(struct filling *f)
{
    double weights = 0;
    for (size_t t = 0; t < f->tenants_n; t++)
        f->active[t] = 0;
    for (size_t j = 0; j < f->jobs_n; j++)
        if (takes(f, j))
            f->active[f->jobs[j].tenant] += f->jobs[j].weight;
    for (size_t t = 0; t < f->tenants_n; t++)
        weights += f->active[t] > 0 ? f->tenants[t].weight : 0;
    return weights;
}

/* Workers per unit of time that job j fills with: its part of its tenant's part. */
static double speed(const struct filling *f, size_t j)
{
    size_t t = f->jobs[j].tenant;
    return f->tenants[t].weight * f->jobs[j].weight / f->active[t];
}

/* How long all can go on filling until a job or a tenant is full. */
static double until_next(const struct filling *f)
{
    double time = (double)INFINITY;
    for (size_t j = 0; j < f->jobs_n; j++)
        if (takes(f, j))
            time = fmin(time, (f->up_to[j] - f->got[j]) / speed(f, j));
    for (size_t t = 0; t < f->tenants_n; t++)
        if (f->active[t] > 0 && f->tenants[t].most > 0)
            time = fmin(time, (f->tenants[t].most - f->tenant_got[t]) / f->tenants[t].weight);
    return time;
}

/* Fills all jobs up to up_to, all at once at the speed of their weights; returns what is left. */
static double fill(struct filling *f, double left)
{
    for (;;) {
        double weights = count_active(f);
        if (weights <= 0 || left <= NOTHING)
            return left;
        double time = fmin(until_next(f), left / weights);
        cw_autofree bool *taking = CW_NEW_ARRAY(bool, f->jobs_n + 1);
        for (size_t j = 0; j < f->jobs_n; j++)
            taking[j] = takes(f, j);
        for (size_t j = 0; j < f->jobs_n; j++) {
            if (!taking[j])
                continue;
            f->got[j] += time * speed(f, j);
            f->tenant_got[f->jobs[j].tenant] += time * speed(f, j);
        }
        left -= time * weights;
    }
}

static double wanted(const struct cw_share_job *job)
{
    return fmax(job->want, job->least);
}

/* The next lower priority than `below` of a job; false when there is none. */
static bool next_priority(const struct filling *f, long below, long *ret)
{
    bool found = false;
    for (size_t j = 0; j < f->jobs_n; j++) {
        if (f->jobs[j].priority < below && (!found || f->jobs[j].priority > *ret)) {
            *ret = f->jobs[j].priority;
            found = true;
        }
    }
    return found;
}

void cw_share_out(double workers, const struct cw_share_tenant *tenants, size_t tenants_n, const struct cw_share_job *jobs, size_t jobs_n,
                  double *ret_workers)
{
    cw_autofree double *up_to = CW_NEW_ARRAY(double, jobs_n + 1), *tenant_got = CW_NEW_ARRAY(double, tenants_n + 1),
                       *active = CW_NEW_ARRAY(double, tenants_n + 1);
    struct filling f = {.tenants = tenants, .jobs = jobs, .tenants_n = tenants_n, .jobs_n = jobs_n, .got = ret_workers, .up_to = up_to,
                        .tenant_got = tenant_got, .active = active};
    for (size_t j = 0; j < jobs_n; j++) {
        ret_workers[j] = 0;
        up_to[j] = fmin(jobs[j].least, wanted(&jobs[j]));
    }
    double left = fill(&f, workers);
    long priority = LONG_MAX;
    while (left > NOTHING && next_priority(&f, priority, &priority)) {
        for (size_t j = 0; j < jobs_n; j++)
            up_to[j] = jobs[j].priority == priority ? wanted(&jobs[j]) : ret_workers[j];
        left = fill(&f, left);
    }
}
