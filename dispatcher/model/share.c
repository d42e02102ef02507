/* SPDX-License-Identifier: Apache-2.0 */
/* Shares: one is created when a job first needs the worker. This file also decides how much more of
 * the job the worker may get. */
#include "dispatcher/model/model.h"

struct cw_share *cw_share_get(struct cw_job *job, struct cw_worker *worker)
{
    struct cw_share *share = cw_share_find(job, worker);
    if (share)
        return share;
    share = CW_NEW(struct cw_share);
    share->job = job;
    share->worker = worker;
    share->next_of_job = job->shares;
    if (job->shares)
        job->shares->prev_of_job = share;
    job->shares = share;
    share->next_of_worker = worker->shares;
    if (worker->shares)
        worker->shares->prev_of_worker = share;
    worker->shares = share;
    cw_map_set(&job->shares_by_worker, worker->id, share);
    cw_share_first_target(share);
    return share;
}

void cw_share_unlink(struct cw_share *share)
{
    *(share->prev_of_job ? &share->prev_of_job->next_of_job : &share->job->shares) =
        share->next_of_job;
    if (share->next_of_job)
        share->next_of_job->prev_of_job = share->prev_of_job;
    *(share->prev_of_worker ? &share->prev_of_worker->next_of_worker : &share->worker->shares) =
        share->next_of_worker;
    if (share->next_of_worker)
        share->next_of_worker->prev_of_worker = share->prev_of_worker;
    cw_map_remove(&share->job->shares_by_worker, share->worker->id);
}

/* Near the end of a job a worker in a large fleet gets no more than half of its even part of what is
 * left, so that one that turns out to be slow does not keep the others waiting at the end; but what
 * a worker of a small fleet would get. */
static double near_end(const struct cw_share *share, double target)
{
    const struct cw_job *job = share->job;
    if (!job->is_ending)
        return target;
    double usual = (double)job->d->options.lease_ms / (double)cw_lease_work_ms(job->d);
    double part = (double)job->left / (double)CW_MAX(job->workers_n, 1) / 2;
    return CW_MIN(target, CW_MAX(target * usual, part));
}

uint64_t cw_share_target(const struct cw_share *share)
{
    double target = (double)share->target * cw_share_slice(share);
    return CW_MAX((uint64_t)near_end(share, target), share->worker->threads);
}

/* A share with less than half of its target may get items up to the target. Items that were lost
 * with another worker (hole) may be given to it even if it has enough, because workers compute the
 * lowest items first and the client waits for these. */
uint64_t cw_share_allowance(const struct cw_share *share, bool hole)
{
    const struct cw_job *job = share->job;
    uint64_t fixed = job->options->lease_items;
    uint64_t target = fixed > 0 ? 2 * fixed : cw_share_target(share);
    if (hole && share->todo_n < 2 * target)
        return fixed > 0 ? fixed : target;
    if (fixed > 0)
        return share->todo_n < fixed ? fixed : 0;
    return share->todo_n > target / 2 ? 0 : target - share->todo_n;
}
