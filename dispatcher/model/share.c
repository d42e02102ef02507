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
    job->shares = share;
    share->next_of_worker = worker->shares;
    worker->shares = share;
    cw_map_set(&job->shares_by_worker, worker->id, share);
    cw_share_first_target(share);
    return share;
}

uint64_t cw_share_target(const struct cw_share *share)
{
    return CW_MAX((uint64_t)((double)share->target * cw_share_slice(share)),
                  share->worker->threads);
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
