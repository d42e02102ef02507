/* SPDX-License-Identifier: Apache-2.0 */
/* A share: what a worker has of a job, made when it is first needed, and how much more it may get. */
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
    cw_share_first_target(share);
    return share;
}

uint64_t cw_share_target(const struct cw_share *share)
{
    return CW_MAX((uint64_t)((double)share->target * cw_share_slice(share)),
                  share->worker->threads);
}

/* How many items the share may get: up to its target when it has less than half of that; and
 * what was lost elsewhere even when it has enough, since workers compute the lowest items first
 * and the client waits for them (hole). */
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
