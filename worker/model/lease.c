/* SPDX-License-Identifier: Apache-2.0 */
/* The leases of a job are an array sorted by their first pending item. It is short, and only the
 * first lease or the newest one ever changes its place. */
#include "worker/model/lease.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "worker/model/state.h"

static bool lease_before(const struct cw_wlease *a, const struct cw_wlease *b)
{
    return cw_item_before(a->epoch, a->pending.v[0].lo, b->epoch, b->pending.v[0].lo);
}

/* Moves lease i to its place among [0, i), which are sorted. */
static void place_lease(struct cw_wjob *job, size_t i)
{
    struct cw_wlease lease = job->leases[i];
    for (; i > 0 && lease_before(&lease, &job->leases[i - 1]); i--)
        job->leases[i] = job->leases[i - 1];
    job->leases[i] = lease;
}

/* Moves lease i, whose first item has changed, to its place; the others are sorted. */
static void place_later(struct cw_wjob *job, size_t i)
{
    struct cw_wlease lease = job->leases[i];
    for (; i + 1 < job->leases_n && lease_before(&job->leases[i + 1], &lease); i++)
        job->leases[i] = job->leases[i + 1];
    job->leases[i] = lease;
}

static void remove_at(struct cw_wjob *job, size_t i)
{
    cw_set_fini(&job->leases[i].pending);
    memmove(&job->leases[i], &job->leases[i + 1], (--job->leases_n - i) * sizeof(job->leases[0]));
}

void cw_wlease_add(struct cw_wjob *job, const Cachew__V1__Lease *m, const struct cw_set *items)
{
    struct cw_wlease lease = {
        .epoch = m->epoch, .consumer = m->consumer, .client_id = m->client_id};
    if (m->lease)
        lease.id = (struct cw_lease_id){m->lease->generation, m->lease->counter};
    struct cw_wepoch *epoch = cw_wjob_epoch(job, m->epoch);
    uint64_t end = job->state == CW_WJOB_READY ? cw_plan_info(job->plan)->items : UINT64_MAX;
    cw_set_copy(&lease.pending, items);
    if (items->n > 0 && items->v[items->n - 1].hi > end)
        cw_log_warn("worker", "job=%s leased items up to %llu of %llu: left out", job->id,
                    (unsigned long long)items->v[items->n - 1].hi, (unsigned long long)end);
    cw_set_remove(&lease.pending, end, UINT64_MAX);
    cw_set_remove_all(&lease.pending, &epoch->held);
    cw_set_add_all(&epoch->held, &lease.pending);
    if (lease.pending.n == 0) {
        cw_set_fini(&lease.pending);
        return;
    }
    CW_GROW(job->leases, job->leases_n, job->leases_cap);
    job->leases[job->leases_n++] = lease;
    place_lease(job, job->leases_n - 1);
}

void cw_wlease_revoke(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items)
{
    struct cw_wepoch *e = cw_wjob_epoch(job, epoch);
    for (size_t i = job->leases_n; i-- > 0;) {
        struct cw_wlease *lease = &job->leases[i];
        if (lease->epoch != epoch)
            continue;
        /* Only pending items stop being held here: tasks.c and outputs.c handle those that are
         * computed or queued. */
        struct cw_set gone = {0};
        cw_set_copy(&gone, &lease->pending);
        cw_set_intersect(&gone, items);
        cw_set_remove_all(&e->held, &gone);
        cw_set_remove_all(&lease->pending, &gone);
        cw_set_fini(&gone);
        if (lease->pending.n == 0)
            remove_at(job, i);
    }
    for (size_t i = 1; i < job->leases_n; i++)
        place_lease(job, i);
}

bool cw_wlease_peek(const struct cw_wjob *job, uint64_t *ret_epoch, uint64_t *ret_item)
{
    if (job->leases_n == 0)
        return false;
    *ret_epoch = job->leases[0].epoch;
    *ret_item = job->leases[0].pending.v[0].lo;
    return true;
}

static void take_of(struct cw_wjob *job, size_t i, uint64_t item, struct cw_wtask *task)
{
    struct cw_wlease *lease = &job->leases[i];
    task->exec.epoch = lease->epoch;
    task->exec.item = item;
    task->lease = lease->id;
    task->client_id = lease->client_id;
    task->consumer =
        job->shared ? CW_MIN(lease->consumer, job->consumers - 1) : cw_wjob_consumer(job, item);
    cw_set_remove(&lease->pending, item, item + 1);
    if (lease->pending.n == 0)
        remove_at(job, i);
    else
        place_later(job, i);
}

void cw_wlease_take(struct cw_wjob *job, struct cw_wtask *task)
{
    take_of(job, 0, job->leases[0].pending.v[0].lo, task);
}

void cw_wlease_take_item(struct cw_wjob *job, uint64_t epoch, uint64_t item, struct cw_wtask *task)
{
    size_t i = 0;
    while (job->leases[i].epoch != epoch || !cw_set_has(&job->leases[i].pending, item))
        i++;
    take_of(job, i, item, task);
}

void cw_wlease_put_back(struct cw_wjob *job, const struct cw_wtask *task)
{
    struct cw_wlease lease = {.id = task->lease,
                              .epoch = task->exec.epoch,
                              .consumer = task->consumer,
                              .client_id = task->client_id};
    cw_set_add(&lease.pending, task->exec.item, task->exec.item + 1);
    CW_GROW(job->leases, job->leases_n, job->leases_cap);
    job->leases[job->leases_n++] = lease;
    place_lease(job, job->leases_n - 1);
}

void cw_wlease_clear(struct cw_wjob *job)
{
    for (size_t i = 0; i < job->leases_n; i++)
        cw_set_fini(&job->leases[i].pending);
    cw_mem_free(job->leases);
    job->leases = NULL;
    job->leases_n = job->leases_cap = 0;
}
