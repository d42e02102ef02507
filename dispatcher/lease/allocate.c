/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which worker gets which items: the lowest free items go first, to the workers that have
 * less to do than their target, and jobs take turns. */
#include "dispatcher/cache/cache.h"
#include "dispatcher/lease/lease_int.h"

/* The number of pieces that the items of one fill are cut into. They alternate with pieces of other
 * workers. */
#define PIECES 16

/* A consumer that has gone on to a later epoch drops what still comes of this one. It went on since it
 * was told that another consumer has the rest; if that one and the dispatcher died before this was
 * stored, the rest is free again, and is for the other's successor. */
static bool is_past(const struct cw_consumer *consumer, const struct cw_epoch *epoch)
{
    return consumer->position.epoch > epoch->number;
}

/* Shared jobs: picks, of the attached consumers that are past the epoch or not, the one that has the
 * fewest unconsumed items and reaches the worker. Items of later epochs do not count: that consumer
 * waits for this epoch to end, and the items of a consumer that died must go to somebody. */
static bool pick_of(const struct cw_share *share, const struct cw_epoch *epoch, int64_t now,
                    bool past, uint32_t *ret_consumer)
{
    const struct cw_job *job = share->job;
    uint64_t best = UINT64_MAX, bound = CW_MAX(job->window / job->layout.consumers, 1);
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        if (!job->consumers[c].client || cw_unreachable_find(share, c, now) ||
            is_past(&job->consumers[c], epoch) != past)
            continue;
        uint64_t n = 0;
        for (size_t e = 0; e < job->epochs_open && job->epochs[e]->number <= epoch->number; e++)
            n += cw_set_count(&job->epochs[e]->parts[c].owned);
        if (n < best && n < bound) {
            best = n;
            *ret_consumer = c;
        }
    }
    return best != UINT64_MAX;
}

static bool has_consumer_in(const struct cw_job *job, const struct cw_epoch *epoch)
{
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        if (job->consumers[c].client && !is_past(&job->consumers[c], epoch))
            return true;
    return false;
}

/* If nobody is in the epoch any more, a consumer that is past it says that the item is over. */
static bool pick_consumer(const struct cw_share *share, const struct cw_epoch *epoch, int64_t now,
                          uint32_t *ret_consumer)
{
    bool past = !has_consumer_in(share->job, epoch);
    return pick_of(share, epoch, now, past, ret_consumer);
}

/* Shared jobs: finds the consumer that the run is for. Items that were leased for a consumer before
 * stay with that one. The run is cut where the owner changes. */
static bool find_owner(const struct cw_share *share, const struct cw_epoch *epoch, int64_t now,
                       struct cw_interval *run, uint32_t *ret_consumer)
{
    const struct cw_job *job = share->job;
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        const struct cw_set *owned = &epoch->parts[c].owned;
        uint64_t next;
        if (cw_set_has(owned, run->lo)) {
            run->hi = CW_MIN(run->hi, cw_set_first_absent(owned, run->lo));
            *ret_consumer = c;
            return job->consumers[c].client != NULL && !cw_unreachable_find(share, c, now);
        }
        if (cw_set_first_present(owned, run->lo, &next))
            run->hi = CW_MIN(run->hi, next);
    }
    return pick_consumer(share, epoch, now, ret_consumer);
}

/* Finds the lowest free run that the share may have, in the first epoch that has one below the end
 * of the window, and not before `least`. `idle`: the share found nothing without it, and may take items that another worker
 * could compute more cheaply. */
static struct cw_epoch *find_run(struct cw_share *share, bool idle, uint64_t least, int64_t now,
                                 struct cw_interval *ret_run, uint32_t *ret_consumer)
{
    struct cw_job *job = share->job;
    if (job->items == 0)
        return NULL;
    bool shared = job->layout.mode == CW_MODE_SHARED;
    uint64_t limit = job->window_end;
    for (uint64_t i = 0; i < CW_EPOCHS_AHEAD && i <= limit / job->items; i++) {
        uint64_t base = i * job->items;
        if (base >= limit)
            break;
        struct cw_epoch *epoch = cw_job_open_epoch(job, job->first_epoch + i);
        if (!epoch)
            break;
        uint64_t from = least > base ? least - base : 0;
        while (cw_epoch_free_run(epoch, from, limit - base, UINT64_MAX, ret_run)) {
            bool owned = !shared || find_owner(share, epoch, now, ret_run, ret_consumer);
            from = ret_run->hi;
            if (!owned || !cw_unreachable_allow(share, *ret_consumer, now, ret_run))
                continue;
            from = ret_run->hi;
            if (!cw_same_function_allows(share, epoch->number, ret_run, idle, now))
                continue;
            uint64_t n = job->faults_n > 0 ? cw_item_faults_allow(share, epoch->number, ret_run)
                                           : UINT64_MAX;
            if (n > 0) {
                if (ret_run->hi - ret_run->lo > n)
                    ret_run->hi = ret_run->lo + n;
                return epoch;
            }
            from = ret_run->lo + 1;
        }
    }
    return NULL;
}

/* Returns whether a free item lies below a leased one, so that it must have been lost; what lies below
 * those of a slow worker alone was not leased yet. */
static bool is_hole(const struct cw_job *job, const struct cw_epoch *epoch, uint64_t item)
{
    for (size_t i = epoch->number - job->first_epoch + 1; i < job->epochs_open; i++) {
        if (job->epochs[i]->leased.n > 0 && job->epochs[i]->front > 0)
            return true;
    }
    return item < epoch->front && epoch->leased.n > 0 &&
           epoch->leased.v[epoch->leased.n - 1].lo > item;
}

/* Returns how many items of a run go to the share before the next worker gets some. Neighbouring
 * items are spread over all workers, because the trainer takes them in order. Otherwise it would
 * wait for one worker while the outputs of the others lie ready. */
static uint64_t piece(const struct cw_share *share, uint64_t run_n, size_t workers_n)
{
    const struct cw_job *job = share->job;
    uint64_t n = cw_fault_rare("lease.one_item") ? 1 : run_n;
    if (job->options->lease_items == 0)
        n = CW_MIN(n, CW_MAX(CW_MIN((n + workers_n - 1) / workers_n, share->target / PIECES),
                             share->worker->threads));
    if (job->layout.mode == CW_MODE_SHARED)
        n = CW_MIN(n, CW_MAX(job->window / job->layout.consumers / 2, 1));
    return n;
}

struct fill {
    int64_t now;
    /* Of the present job: whether an item is free, and whether the lowest free one may be a hole
     * (see is_hole). */
    bool free, hole;
};

/* Sets both flags by looking at the lowest free item in the window. */
static void look_for_free(struct cw_job *job, struct fill *fill)
{
    uint64_t limit = job->window_end;
    struct cw_interval run;
    fill->free = fill->hole = false;
    for (uint64_t i = 0;
         job->items > 0 && !fill->free && i < CW_EPOCHS_AHEAD && i * job->items < limit; i++) {
        struct cw_epoch *epoch = cw_job_open_epoch(job, job->first_epoch + i);
        if (!epoch)
            return;
        fill->free = cw_epoch_free_run(epoch, 0, limit - i * job->items, UINT64_MAX, &run);
        fill->hole = fill->free && is_hole(job, epoch, run.lo);
    }
}

static bool fill_one(struct cw_share *share, const struct fill *fill)
{
    uint32_t consumer = 0;
    struct cw_interval run;
    size_t workers_n = CW_MAX(share->job->workers_n, 1);
    if (cw_unreachable_bars(share, fill->now))
        return false;
    /* The code below has the same conditions; here they are tested without a search for each
     * share. */
    if (!fill->free || (share->fill_allowance == 0 && (share->fill_extended || !fill->hole))) {
        share->fill_complete = fill->free;
        return false;
    }
    const uint64_t least = cw_lease_least(share);
    struct cw_epoch *epoch = find_run(share, false, least, fill->now, &run, &consumer);
    if (!epoch && share->todo_n == 0)
        epoch = find_run(share, true, least, fill->now, &run, &consumer);
    share->fill_complete = epoch != NULL;
    if (!epoch)
        return false;
    if (share->fill_allowance == 0 && !share->fill_extended && is_hole(share->job, epoch, run.lo)) {
        share->fill_allowance = cw_share_allowance(share, true);
        share->fill_extended = true;
    }
    uint64_t n = CW_MIN(piece(share, run.hi - run.lo, workers_n), share->fill_allowance);
    if (n == 0)
        return false;
    share->fill_allowance -= n;
    struct cw_set items = {0};
    cw_set_add(&items, run.lo, run.lo + n);
    cw_lease_give(share, epoch, &items, false, consumer);
    cw_set_fini(&items);
    if (least == 0)
        epoch->front = CW_MAX(epoch->front, run.lo + n);
    return true;
}

/* Gives the last item of the window to workers that get nothing else and are to be tried. It goes to
 * them before others get items, since a window may move by one item at a time. */
static void try_slow(struct cw_job *job, int64_t now)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        uint32_t consumer = 0;
        struct cw_interval run;
        struct cw_epoch *epoch =
            cw_lease_is_to_be_tried(share, now)
                ? find_run(share, false, job->window_end - 1, now, &run, &consumer)
                : NULL;
        if (!epoch)
            continue;
        struct cw_set items = {0};
        cw_set_add(&items, run.lo, run.hi);
        share->tried_ms = now;
        share->tried = true;
        cw_lease_give(share, epoch, &items, false, consumer);
        cw_set_fini(&items);
    }
}

/* Workers that have nothing to do come first: where few items are free at a time, those before them in
 * the list, which may have more than enough, would get them all. */
static bool fill_idle(struct cw_job *job, const struct fill *fill)
{
    bool any = false;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->todo_n == 0 && cw_share_serves(share) && fill_one(share, fill))
            any = true;
    return any;
}

static bool fill_job(struct cw_job *job, struct fill *fill, bool first)
{
    look_for_free(job, fill);
    bool any = first && fill_idle(job, fill);
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!cw_share_serves(share))
            continue;
        if (fill_one(share, fill))
            any = true;
        else if (first)
            cw_lease_hedge(share, fill->now);
    }
    return any;
}

/* Once one worker has little to do, all workers with less than three quarters of their target get
 * more: together, so that their items alternate. */
static void set_allowances(struct cw_job *job)
{
    bool low = false;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        share->fill_extended = false;
        share->fill_allowance = cw_share_serves(share) ? cw_share_allowance(share, false) : 0;
        low = low || share->fill_allowance > 0;
    }
    for (struct cw_share *share = job->shares; low && job->options->lease_items == 0 && share;
         share = share->next_of_job) {
        uint64_t target = cw_share_target(share);
        if (share->fill_allowance == 0 && cw_share_serves(share) && share->todo_n <= target / 4 * 3)
            share->fill_allowance = target - share->todo_n;
    }
}

/* Finds out how much is left of a job that ends (cw_share_target). */
static void look_for_end(struct cw_job *job)
{
    job->is_ending = job->epochs_n > 0 && job->first_epoch + job->epochs_open >= job->epochs_n &&
                     cw_lease_work_ms(job->d) > job->d->options.lease_ms;
    job->left = 0;
    for (size_t i = 0; job->is_ending && i < job->epochs_open; i++) {
        const struct cw_epoch *epoch = job->epochs[i];
        uint64_t gone = cw_set_count(&epoch->received) + cw_set_count(&epoch->leased);
        job->left += job->items - CW_MIN(gone, job->items);
    }
}

/* Prepares a fill of the job: each worker that serves the job gets a share, and the allowance of
 * each is set. A job with assigned workers has their shares already and does not go through the
 * whole fleet. */
static void begin_fill(struct cw_job *job, int64_t now)
{
    size_t threads = 0;
    for (struct cw_worker *worker = job->d->workers; cw_job_uses_all_workers(job) && worker;
         worker = worker->next)
        if (cw_worker_serves(worker, job))
            (void)cw_share_get(job, worker);
    job->workers_n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!cw_share_serves(share))
            continue;
        threads += share->worker->threads;
        job->workers_n++;
    }
    job->window = cw_window_items(job, threads);
    if (cw_fault_rare("lease.tiny_window"))
        job->window = job->layout.consumers;
    job->window_end = cw_job_window_end(job);
    look_for_end(job);
    cw_lease_find_fastest(job, now);
    set_allowances(job);
}

static void end_fill(struct cw_job *job)
{
    job->due.leases = false;
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        cw_lease_send(share);
    cw_lease_store_owners(job);
}

static bool is_ready(const struct cw_job *job, int64_t now)
{
    return job->due.leases && job->status == CW_JOB_RUNNING && job->stored &&
           job->hold_until_ms <= now && !cw_cache_awaits_listing(job, now);
}

void cw_lease_fill_all(struct cw_dispatcher *d)
{
    struct fill fill = {.now = cw_clock_ms()};
    bool any = false;
    for (struct cw_job *job = d->due_jobs; job; job = job->next_due)
        any = any || is_ready(job, fill.now);
    if (!any || d->stopping)
        return;
    for (struct cw_job *job = d->due_jobs; job; job = job->next_due)
        if (is_ready(job, fill.now))
            begin_fill(job, fill.now);
    for (struct cw_job *job = d->due_jobs; job; job = job->next_due)
        if (is_ready(job, fill.now))
            try_slow(job, fill.now);
    for (bool first = true; any; first = false) {
        any = false;
        for (struct cw_job *job = d->due_jobs; job; job = job->next_due)
            any = (is_ready(job, fill.now) && fill_job(job, &fill, first)) || any;
    }
    for (struct cw_job *job = d->due_jobs; job; job = job->next_due)
        if (is_ready(job, fill.now))
            end_fill(job);
}
