/* SPDX-License-Identifier: Apache-2.0 */
/* Computes fair shares (policies/max_min_share.h) of the fleet. A job wants as many workers as its
 * policy says; without a policy it wants all of them. */
#include "dispatcher/scaling/scaling_int.h"
#include "policies/max_min_share.h"

#include <math.h>

#define WHOLE 1e-6 /* A share this close to a whole number of workers is rounded to it. */

/* Returns how many workers the job asks for. `all` is what a job without a policy asks for. */
static struct cw_share_job wish_of(const struct cw_job *job, double all)
{
    double most = (double)cw_job_max_workers(job),
           want = CW_MIN(job->scaling ? cw_scaling_wants(job) : all, most);
    double least = CW_MAX((double)job->options->min_workers, 1);
    return (struct cw_share_job){.tenant = job->tenant->index,
                                 .weight = job->options->weight > 0 ? job->options->weight : 1,
                                 .priority = job->options->priority,
                                 .least = want > 0 ? CW_MIN(least, most) : 0,
                                 .want = want};
}

/* Numbers the tenants that have jobs. */
static size_t number_tenants(struct cw_dispatcher *d, struct cw_share_tenant *ret_tenants)
{
    size_t n = 0;
    for (struct cw_job *job = d->jobs; job; job = job->next)
        job->tenant->index = SIZE_MAX;
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        const struct cw_tenant_limits *limits = &job->tenant->limits;
        if (job->tenant->index != SIZE_MAX)
            continue;
        job->tenant->index = n;
        ret_tenants[n++] = (struct cw_share_tenant){
            limits->weight, limits->max_workers == CW_NO_LIMIT ? 0 : (double)limits->max_workers};
    }
    return n;
}

/* Returns how many workers a provisioner should provide for all jobs, including those that wait for
 * a worker to prepare them. */
static double sum_of_wishes(struct cw_dispatcher *d, const struct cw_share_tenant *tenants,
                            size_t tenants_n)
{
    double sum = 0;
    cw_autofree double *of_tenant = CW_NEW_ARRAY(double, tenants_n + 1);
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        if (!cw_job_wants_workers(job) &&
            (job->status != CW_JOB_PREPARING || job->no_client_ms != 0))
            continue;
        struct cw_share_job wish = wish_of(job, (double)d->options.max_workers);
        of_tenant[wish.tenant] += CW_MAX(wish.want, wish.least);
    }
    for (size_t t = 0; t < tenants_n; t++)
        sum += tenants[t].most > 0 ? CW_MIN(of_tenant[t], tenants[t].most) : of_tenant[t];
    return sum;
}

static double tidy(double workers)
{
    double whole = floor(workers + 0.5);
    return fabs(workers - whole) < WHOLE ? whole : workers;
}

double cw_fair_shares_make(struct cw_dispatcher *d)
{
    size_t n = 0, have = d->common_n;
    cw_autofree struct cw_share_tenant *tenants =
        CW_NEW_ARRAY(struct cw_share_tenant, d->jobs_n + 1);
    cw_autofree struct cw_share_job *wishes = CW_NEW_ARRAY(struct cw_share_job, d->jobs_n + 1);
    cw_autofree double *shares = CW_NEW_ARRAY(double, d->jobs_n + 1);
    size_t tenants_n = number_tenants(d, tenants);
    for (const struct cw_job *job = d->jobs; job; job = job->next)
        if (cw_job_wants_workers(job))
            wishes[n++] = wish_of(job, (double)have);
    cw_share_out((double)have, tenants, tenants_n, wishes, n, shares);
    n = 0;
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        double granted = cw_job_wants_workers(job) ? tidy(shares[n++]) : 0;
        d->due.slices = d->due.slices || granted != job->granted;
        job->has_extra = job->has_extra && granted == job->granted;
        job->granted = granted;
    }
    return sum_of_wishes(d, tenants, tenants_n);
}

double cw_scaling_wants(const struct cw_job *job)
{
    const struct cw_scaling *s = job->scaling;
    return s->local_n > 0 ? s->target : CW_MAX(s->target, 1);
}
