/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the items for which bytes are read ahead. Where the bytes of an item lie finds the thread of
 * cache/cache_prefetch.h; how many it will be is not known before, so it is estimated by the largest
 * item so far, and only one is looked at while there was none. */
#include "worker/compute/read_ahead.h"

#include <string.h>

#include "base/mem.h"
#include "worker/cache/cache_prefetch.h"
#include "worker/model/budget.h"

#define LOOKED_AT_MAX 16 /* items that the thread is given at a time */
#define RANGES_MAX 4096  /* ranges that are there or wanted */

/* An item that is pending, and for which bytes are read. */
struct cw_wahead_item {
    uint64_t epoch, item;
    struct cw_ahead *ahead;
    bool is_done;
};

/* ---- what was told ---- */

/* On the loop thread. */
static void on_told(void *arg)
{
    struct cw_worker_state *w = arg;
    atomic_store(&w->ahead.is_told, false);
    if (!w->closing)
        w->ahead.may_begin(w);
}

/* By any thread: more items may be looked at, or an item may begin. */
static void tell(void *arg)
{
    struct cw_worker_state *w = arg;
    if (!atomic_exchange(&w->ahead.is_told, true))
        cw_loop_post_node(w->loop, &w->ahead.told_node);
}

void cw_wahead_start(struct cw_worker_state *w, cw_loop_fn *may_begin)
{
    w->ahead.may_begin = may_begin;
    w->ahead.told_node = (struct cw_loop_node){.fn = on_told, .arg = w};
}

/* ---- the items of a job ---- */

/* Returns the number of items before (epoch, item). */
static size_t place_of(const struct cw_wjob_ahead *a, uint64_t epoch, uint64_t item)
{
    size_t i = a->n;
    while (i > 0 && !cw_item_before(a->v[i - 1].epoch, a->v[i - 1].item, epoch, item))
        i--;
    return i;
}

static struct cw_wahead_item *find(const struct cw_wjob_ahead *a, uint64_t epoch, uint64_t item)
{
    size_t i = place_of(a, epoch, item);
    bool is = i < a->n && a->v[i].epoch == epoch && a->v[i].item == item;
    return is ? &a->v[i] : NULL;
}

static void remove_at(struct cw_wjob_ahead *a, size_t i)
{
    memmove(&a->v[i], &a->v[i + 1], (--a->n - i) * sizeof(a->v[0]));
}

static bool is_done(struct cw_wahead_item *item)
{
    item->is_done = item->is_done || cw_ahead_is_done(item->ahead);
    return item->is_done;
}

static bool can_ahead(struct cw_wjob *job)
{
    return job->state == CW_WJOB_READY && !job->forgotten && cw_exec_can_ahead(job->written);
}

static bool is_pending(const struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    for (size_t i = 0; i < job->leases_n; i++)
        if (job->leases[i].epoch == epoch && cw_set_has(&job->leases[i].pending, item))
            return true;
    return false;
}

/* Finds the lowest pending item at (epoch, item) or behind it. */
static bool pending_from(const struct cw_wjob *job, uint64_t epoch, uint64_t item,
                         uint64_t *ret_epoch, uint64_t *ret_item)
{
    bool found = false;
    for (size_t i = 0; i < job->leases_n; i++) {
        const struct cw_wlease *lease = &job->leases[i];
        uint64_t from = lease->epoch == epoch ? item : 0, at = 0;
        if (lease->epoch < epoch || !cw_set_first_present(&lease->pending, from, &at))
            continue;
        if (found && !cw_item_before(lease->epoch, at, *ret_epoch, *ret_item))
            continue;
        found = true;
        *ret_epoch = lease->epoch;
        *ret_item = at;
    }
    return found;
}

/* ---- beginning to read ---- */

static bool add(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    struct cw_wjob_ahead *a = &job->ahead;
    /* an item may be larger than all that is to be read ahead */
    struct cw_ahead *ahead = cw_ahead_new(cw_budget(job->worker) / CW_AHEAD_SHARE);
    if (!cw_wcache_prefetch_bytes(job, epoch, item, ahead, tell)) {
        cw_ahead_free(ahead);
        return false;
    }
    size_t i = place_of(a, epoch, item);
    CW_GROW(a->v, a->n, a->cap);
    memmove(&a->v[i + 1], &a->v[i], (a->n++ - i) * sizeof(a->v[0]));
    a->v[i] = (struct cw_wahead_item){epoch, item, ahead, false};
    return true;
}

/* The client may wait for the lowest item: its bytes are read in any case. It may have been leased after
 * others that come later. */
static void add_lowest(struct cw_wjob *job)
{
    uint64_t epoch = 0, item = 0;
    if (cw_wlease_peek(job, &epoch, &item) && !find(&job->ahead, epoch, item) &&
        cw_item_before(epoch, item, job->ahead.epoch, job->ahead.item))
        (void)add(job, epoch, item);
}

static bool add_next(struct cw_wjob *job)
{
    struct cw_wjob_ahead *a = &job->ahead;
    uint64_t epoch = 0, item = 0;
    if (!pending_from(job, a->epoch, a->item, &epoch, &item) || !add(job, epoch, item))
        return false;
    a->epoch = epoch;
    a->item = item + 1;
    return true;
}

static bool has_room(const struct cw_worker_state *w)
{
    struct cw_ahead_counts c;
    size_t looked_at = atomic_load(&w->ahead.looked_at), largest = atomic_load(&w->ahead.largest);
    cw_ahead_counts(&c);
    uint64_t wanted = c.bytes + (looked_at + 1) * largest;
    return looked_at < (largest > 0 ? LOOKED_AT_MAX : 1) && c.waiting < cw_ahead_limit() &&
           c.ranges < RANGES_MAX && wanted <= cw_budget(w) / CW_AHEAD_SHARE &&
           w->memory.bytes + cw_budget_stream_bytes(w) + wanted <= cw_budget(w);
}

void cw_wahead_fill(struct cw_worker_state *w)
{
    size_t refused = 0;
    if (w->drain.active || w->closing)
        return;
    for (size_t i = 0; i < w->jobs.n; i++)
        if (can_ahead(w->jobs.list[i]))
            add_lowest(w->jobs.list[i]);
    while (refused < w->jobs.n) {
        struct cw_wjob *job = w->jobs.list[w->ahead.next_job++ % w->jobs.n];
        bool first = job->ahead.n == 0 && job->tasks_n == 0;
        bool added = can_ahead(job) && (first || has_room(w)) && add_next(job);
        refused = added ? 0 : refused + 1;
    }
}

/* ---- beginning items ---- */

bool cw_wahead_next(struct cw_wjob *job, uint64_t *ret_epoch, uint64_t *ret_item)
{
    struct cw_wjob_ahead *a = &job->ahead;
    if (!cw_wlease_peek(job, ret_epoch, ret_item))
        return false;
    struct cw_wahead_item *lowest = a->n > 0 ? find(a, *ret_epoch, *ret_item) : NULL;
    if (!lowest || is_done(lowest))
        return true;
    for (size_t i = 0; i < a->n; i++) {
        if (!is_done(&a->v[i]))
            continue;
        *ret_epoch = a->v[i].epoch;
        *ret_item = a->v[i].item;
        return true;
    }
    return false;
}

struct cw_ahead *cw_wahead_take(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    struct cw_wahead_item *found = find(&job->ahead, epoch, item);
    if (!found)
        return NULL;
    struct cw_ahead *ahead = found->ahead;
    remove_at(&job->ahead, (size_t)(found - job->ahead.v));
    return ahead;
}

/* ---- giving up ---- */

void cw_wahead_prune(struct cw_wjob *job)
{
    struct cw_wjob_ahead *a = &job->ahead;
    size_t kept = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (is_pending(job, a->v[i].epoch, a->v[i].item))
            a->v[kept++] = a->v[i];
        else
            cw_ahead_free(a->v[i].ahead);
    }
    a->n = kept;
}

void cw_wahead_clear(struct cw_wjob *job)
{
    struct cw_wjob_ahead *a = &job->ahead;
    for (size_t i = 0; i < a->n; i++)
        cw_ahead_free(a->v[i].ahead);
    cw_mem_free(a->v);
    a->v = NULL;
    a->n = a->cap = 0;
    a->epoch = a->item = 0;
}

void cw_wahead_shed(struct cw_worker_state *w)
{
    for (size_t i = 0; i < w->jobs.n; i++)
        cw_wahead_clear(w->jobs.list[i]);
}

size_t cw_wahead_bytes(void)
{
    struct cw_ahead_counts c;
    cw_ahead_counts(&c);
    return (size_t)c.bytes;
}
