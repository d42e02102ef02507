/* SPDX-License-Identifier: Apache-2.0 */
/* Which workers a job has. As few changes as possible: workers that it has stay, new ones are those with the fewest jobs. */
#include <math.h>

#include "dispatcher/scaling.h"
#include "policies/share.h"

static bool may_serve(const struct cw_worker *w)
{
    return w->hello && !w->draining && !w->failed && !w->retiring && w->only_job[0] == '\0';
}

static bool wants_workers(const struct cw_job *job)
{
    return (job->status == CW_JOB_RUNNING || job->status == CW_JOB_PREPARING) && cw_job_has_clients(job);
}

static double usable(const struct cw_dispatcher *d)
{
    double n = 0;
    for (const struct cw_worker *w = d->workers; w; w = w->next)
        n += may_serve(w);
    return n;
}

/* Fair shares of the workers that there are; returns the sum of what is wanted. Jobs that use all workers are not counted. */
static double make_shares(struct cw_dispatcher *d)
{
    size_t n = 0;
    double wanted = 0, have = usable(d);
    const struct cw_share_tenant all = {.weight = 1};
    cw_autofree struct cw_share_job *wishes = CW_NEW_ARRAY(struct cw_share_job, d->jobs_n + 1);
    cw_autofree double *shares = CW_NEW_ARRAY(double, d->jobs_n + 1);
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        if (!job->scaling)
            continue;
        double want = wants_workers(job) ? CW_MAX(job->scaling->target, 1) : 0;
        wishes[n++] = (struct cw_share_job){.weight = 1, .least = CW_MIN(want, 1), .want = want};
        wanted += want;
    }
    cw_share_out(have, &all, 1, wishes, n, shares);
    n = 0;
    for (struct cw_job *job = d->jobs; job; job = job->next)
        if (job->scaling)
            job->scaling->granted = wanted <= have ? wishes[n++].want : shares[n++];
    return wanted;
}

static unsigned load_of(const struct cw_worker *w)
{
    unsigned n = 0;
    for (const struct cw_share *share = w->shares; share; share = share->next_of_worker)
        n += share->assigned;
    return n;
}

static void assign(struct cw_job *job, struct cw_worker *w, bool on, int64_t now)
{
    struct cw_share *share = cw_share_get(job, w);
    share->assigned = on;
    share->assigned_done_n = share->done_n;
    cw_scaling_changed(job, now);
    job->want_fill = true;
}

static bool is_assigned(const struct cw_job *job, const struct cw_worker *w)
{
    const struct cw_share *share = cw_share_find(job, w);
    return share && share->assigned;
}

/* The worker to take next (few jobs) or to give up next (many jobs); NULL when there is none. */
static struct cw_worker *pick(const struct cw_job *job, bool take)
{
    struct cw_worker *best = NULL;
    unsigned best_load = 0;
    for (struct cw_worker *w = job->d->workers; w; w = w->next) {
        if (!may_serve(w) || is_assigned(job, w) == take)
            continue;
        unsigned load = load_of(w);
        if (!best || (take ? load < best_load : load > best_load)) {
            best = w;
            best_load = load;
        }
    }
    return best;
}

static void count(struct cw_job *job)
{
    struct cw_scaling *s = job->scaling;
    s->assigned_n = s->serving_n = 0;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->assigned)
            continue;
        s->assigned_n++;
        s->serving_n += share->done_n > share->assigned_done_n;
    }
}

static void assign_job(struct cw_job *job, int64_t now)
{
    struct cw_scaling *s = job->scaling;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->assigned && !may_serve(share->worker))
            assign(job, share->worker, false, now);
    count(job);
    double want = s->granted > 0 ? CW_MAX(floor(s->granted + 0.5), 1) : 0;
    while (s->assigned_n != (uint32_t)want) {
        bool take = s->assigned_n < (uint32_t)want;
        struct cw_worker *w = pick(job, take);
        if (!w)
            break;
        assign(job, w, take, now);
        count(job);
    }
}

double cw_scaling_assign(struct cw_dispatcher *d, int64_t now)
{
    double wanted = make_shares(d);
    bool all = false;
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        all = all || (!job->scaling && wants_workers(job));
        if (job->scaling)
            assign_job(job, now);
    }
    return all ? CW_MAX(wanted, (double)d->options.max_workers) : wanted;
}
