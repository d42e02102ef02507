/* SPDX-License-Identifier: Apache-2.0 */
/* Hedges: while a worker is idle, items that are late on another worker are leased to it as
 * well. */
#include "dispatcher/lease/lease_int.h"

#define HEDGE_FACTOR 3.0
#define HEDGE_MIN_MS 1000
#define VERY_LATE 5 /* in times of what is late */

/* Returns the lease's uncomputed items that no other lease contains. */
static void only_in_lease(const struct cw_job *job, const struct cw_lease *lease,
                          struct cw_set *ret_items)
{
    cw_set_copy(ret_items, &lease->todo);
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        for (const struct cw_lease *other = share->leases; other; other = other->next) {
            for (size_t i = 0; other != lease && other->epoch == lease->epoch && i < other->items.n;
                 i++)
                cw_set_remove(ret_items, other->items.v[i].lo, other->items.v[i].hi);
        }
    }
}

static double silent_ms(const struct cw_share *share, const struct cw_lease *lease, int64_t now)
{
    return (double)(now - CW_MAX(lease->given_ms, share->done_ms));
}

/* Returns for how long a worker may complete nothing before its items are late. */
static double limit_ms(const struct cw_job *job)
{
    double limit = CW_MAX(HEDGE_MIN_MS, HEDGE_FACTOR * job->item_ns / 1e6);
    /* A worker that gathers what it reports is silent for so long without being late. */
    limit = CW_MAX(limit, HEDGE_FACTOR * cw_report_interval_ms(job->d));
    return cw_fault_rare("lease.hedge") ? 0 : limit;
}

static bool comes_before(const struct cw_lease *a, const struct cw_lease *b)
{
    return a->epoch != b->epoch ? a->epoch < b->epoch : a->todo.v[0].lo < b->todo.v[0].lo;
}

/* Finds the lease with the lowest late items: its worker has completed nothing for too long, and
 * nobody else computes the items. */
static struct cw_lease *find_late(const struct cw_share *share, double limit, int64_t now,
                                  struct cw_set *ret_items, bool *ret_very_late)
{
    const struct cw_job *job = share->job;
    struct cw_lease *best = NULL;
    for (struct cw_share *other = job->shares; other; other = other->next_of_job) {
        for (struct cw_lease *lease = other->leases; other != share && lease; lease = lease->next) {
            if (lease->todo.n == 0 || silent_ms(other, lease, now) < limit ||
                (best && comes_before(best, lease)))
                continue;
            struct cw_set items = {0};
            only_in_lease(job, lease, &items);
            if (items.n > 0) {
                best = lease;
                *ret_very_late = silent_ms(other, lease, now) >= VERY_LATE * limit;
                cw_set_copy(ret_items, &items);
            }
            cw_set_fini(&items);
        }
    }
    return best;
}

/* Returns whether everything waits for the item: no client has received it, but all before it. */
static bool is_waited_for(const struct cw_job *job, const struct cw_epoch *epoch, uint64_t item)
{
    for (size_t i = 0; i < job->epochs_open; i++) {
        uint64_t first = cw_set_first_absent(&job->epochs[i]->received, 0);
        if (first < job->items)
            return job->epochs[i] == epoch && first == item;
    }
    return false;
}

/* Returns how many of the late items may be hedged now. When the epoch has had its hedges, there is
 * still one for an item that everything waits for: its worker may hang for ever. That is one item at
 * a time, whose worker must have been silent for longer; `late` then has only that one left, since
 * another must not take its place when this worker cannot be reached by the item's client. */
static uint64_t may_hedge(const struct cw_share *share, const struct cw_epoch *epoch,
                          struct cw_set *late, bool very_late)
{
    uint64_t n = cw_epoch_may_hedge(epoch), first = late->v[0].lo;
    if (n > 0)
        return CW_MIN(n, share->worker->threads);
    cw_set_remove(late, first + 1, UINT64_MAX);
    return very_late && is_waited_for(share->job, epoch, first);
}

void cw_lease_hedge(struct cw_share *share, int64_t now)
{
    struct cw_job *job = share->job;
    if (share->todo_n > 0 || cw_unreachable_bars(share, now) || job->item_ns <= 0 ||
        job->layout.mode == CW_MODE_SHARED || job->options->at_most_once)
        return;
    struct cw_set late = {0}, items = {0};
    bool very_late = false;
    struct cw_lease *lease = find_late(share, limit_ms(job), now, &late, &very_late);
    struct cw_epoch *epoch = lease ? cw_job_epoch(job, lease->epoch) : NULL;
    uint64_t left = epoch ? may_hedge(share, epoch, &late, very_late) : 0;
    for (size_t i = 0; left > 0 && i < late.n; i++) {
        struct cw_interval run = late.v[i];
        if (!cw_unreachable_allow(share, 0, now, &run))
            continue;
        uint64_t n = CW_MIN(left, run.hi - run.lo);
        cw_set_add(&items, run.lo, run.lo + n);
        left -= n;
    }
    if (items.n > 0) {
        job->hedges_out += !lease->hedge;
        lease->hedge = true;
        job->hedged += cw_set_count(&items);
        cw_lease_give(share, epoch, &items, true, 0);
    }
    cw_set_fini(&items);
    cw_set_fini(&late);
}
