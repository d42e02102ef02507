/* SPDX-License-Identifier: Apache-2.0 */
/* A worker that is much slower than others of the job, on a crowded host for example, gets items that
 * are needed when it can have computed them, and none before these: batches are taken in order, so
 * all the others would wait for it. One that gets none has nothing by which it could show that it was
 * slow only once; so from time to time it is tried, with the item that is needed last. */
#include "base/fault.h"
#include "dispatcher/lease/lease_int.h"

#include <math.h>

#define SLOW_FACTOR 2.0 /* of the fastest worker's time for an item */
#define MARGIN 2.0      /* Its next item may take longer than those before. */
#define SILENT_MS 1000
#define SILENT_ITEMS 3
/* A worker that gets nothing is tried after so long, and so many times of what it takes for an item. */
#define TRIED_MS 10000
#define TRIED_ITEMS 4
#define TRIED_ITEMS_ALONE 40 /* where a second worker must not compute an item that is late */

/* Returns how long the worker of the share takes for one item; 0 if that is not known. */
static double item_s(const struct cw_share *share)
{
    return share->item_ns / 1e9 * (cw_fault_rare("lease.slow") ? 100 : 1);
}

/* Whether a worker has so much to do and has completed nothing for so long that others must not leave
 * their items to it. */
static bool is_stuck(const struct cw_share *share, double s, int64_t now)
{
    const struct cw_lease *lease = share->leases;
    while (lease && lease->todo.n == 0)
        lease = lease->next;
    const int64_t since = lease ? CW_MAX(share->done_ms, lease->given_ms) : share->done_ms;
    return lease && (double)(now - since) > SILENT_MS + SILENT_ITEMS * s * 1e3;
}

/* Whether any worker may have any item. */
static bool all_may_have_all(const struct cw_job *job)
{
    return !job->info->sparse && job->layout.mode != CW_MODE_SHARED && job->faults_n == 0 &&
           job->next_same_function == job;
}

void cw_lease_find_fastest(struct cw_job *job, int64_t now)
{
    job->fastest_s = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (share->unreachable || !all_may_have_all(job)) {
            job->fastest_s = 0;
            return;
        }
        double s = item_s(share);
        if (s > 0 && cw_share_serves(share) && !is_stuck(share, s, now) &&
            (job->fastest_s <= 0 || s < job->fastest_s))
            job->fastest_s = s;
    }
}

uint64_t cw_lease_least(const struct cw_share *share)
{
    const struct cw_job *job = share->job;
    double s = item_s(share);
    if (job->fastest_s <= 0 || s < SLOW_FACTOR * job->fastest_s || job->consume_rate <= 0 ||
        job->epochs_open == 0)
        return 0;
    double ready_s = s * ceil((double)(share->todo_n + 1) / share->worker->threads);
    const uint64_t lowest = cw_epoch_lowest_unconsumed(job->epochs[0]),
                   ready = lowest + (uint64_t)(job->consume_rate * ready_s),
                   least = lowest + (uint64_t)(MARGIN * job->consume_rate * ready_s);
    /* The last one of the window comes in time, if without the margin. */
    return least >= job->window_end && ready < job->window_end ? job->window_end - 1 : least;
}

bool cw_lease_is_to_be_tried(const struct cw_share *share, int64_t now)
{
    const struct cw_job *job = share->job;
    if (share->todo_n > 0 || share->item_ns <= 0 || !cw_share_serves(share) ||
        cw_lease_least(share) < job->window_end)
        return false;
    const double items = job->options->at_most_once ? TRIED_ITEMS_ALONE : TRIED_ITEMS,
                 pause_ms = CW_MAX(TRIED_MS, items * item_s(share) * 1e3);
    return (double)(now - CW_MAX(share->done_ms, share->tried_ms)) >= pause_ms;
}
