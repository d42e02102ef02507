/* SPDX-License-Identifier: Apache-2.0 */
/* The bookkeeping of leases: creating one, and all the ways in which it shrinks. allocate.c decides
 * who gets which items. */
#include <string.h>

#include "dispatcher/cache/cache.h"
#include "dispatcher/lease/lease_int.h"
#include "dispatcher/message/message.h"
#include "dispatcher/scaling/scaling.h"

static void lease_free(struct cw_lease *lease)
{
    cw_set_fini(&lease->items);
    cw_set_fini(&lease->todo);
    cw_mem_free(lease);
}

void cw_share_remove(struct cw_share *share)
{
    cw_job_worker_list_due(share->job);
    cw_share_unlink(share);
    cw_same_function_forget(share);
    cw_other_files_forget(share);
    cw_unreachable_forget(share);
    cw_cache_unsubscribe(share->worker);
    while (share->leases) {
        struct cw_lease *lease = share->leases;
        share->leases = lease->next;
        lease_free(lease);
    }
    cw_mem_free(share->slow_at);
    cw_mem_free(share);
}

/* Removes the set from the lease and keeps share->todo_n right. ret_gone gets the items that were
 * removed. */
static void lease_remove(struct cw_share *share, struct cw_lease *lease, const struct cw_set *set,
                         struct cw_set *ret_gone)
{
    struct cw_set gone = {0};
    cw_set_copy(&gone, &lease->items);
    cw_set_intersect(&gone, set);
    uint64_t before = cw_set_count(&lease->todo);
    cw_set_remove_all(&lease->items, &gone);
    cw_set_remove_all(&lease->todo, &gone);
    share->todo_n -= before - cw_set_count(&lease->todo);
    cw_set_add_all(ret_gone, &gone);
    cw_set_fini(&gone);
}

static void drop_empty(struct cw_share *share)
{
    for (struct cw_lease **at = &share->leases; *at;) {
        struct cw_lease *lease = *at;
        if (lease->items.n > 0) {
            at = &lease->next;
            continue;
        }
        if (lease->hedge && share->job->hedges_out > 0)
            share->job->hedges_out--;
        *at = lease->next;
        lease_free(lease);
    }
    if (!share->leases && !share->assigned && !cw_job_uses_all_workers(share->job))
        cw_job_worker_list_due(share->job);
}

static struct cw_lease *lease_new(struct cw_share *share, uint64_t epoch, bool hedge)
{
    struct cw_lease *lease = CW_NEW(struct cw_lease);
    lease->counter = ++share->job->d->lease_counter;
    lease->epoch = epoch;
    lease->given_ms = cw_clock_ms();
    lease->hedge = hedge;
    share->job->hedges_out += hedge;
    struct cw_lease **at = &share->leases;
    while (*at)
        at = &(*at)->next;
    *at = lease;
    return lease;
}

struct cw_lease *cw_lease_add(struct cw_share *share, struct cw_epoch *epoch,
                              const struct cw_set *items, struct cw_lease *to, bool hedge)
{
    struct cw_job *job = share->job;
    struct cw_lease *lease = to ? to : lease_new(share, epoch->number, hedge);
    cw_set_add_all(&lease->items, items);
    cw_set_add_all(&lease->todo, items);
    cw_set_add_all(&epoch->leased, items);
    cw_same_function_note(share, epoch->number, items);
    share->todo_n += cw_set_count(items);
    job->leased_n += cw_set_count(items);
    return lease;
}

void cw_lease_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job) {
        for (struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            if (lease->epoch != epoch)
                continue;
            struct cw_set gone = {0};
            lease_remove(share, lease, items, &gone);
            if (lease->hedge || share->worker->draining)
                cw_lease_revoke(share->worker, job, epoch, &gone);
            cw_set_fini(&gone);
        }
        drop_empty(share);
    }
    if (job->faults_n > 0)
        cw_item_faults_received(job, epoch, items);
    cw_job_leases_due(job);
}

/* Removes from the set what another lease of the epoch holds, too: only hedges have items that others
 * have. */
static void leave_hedged(const struct cw_job *job, uint64_t epoch, struct cw_set *gone)
{
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            if (lease->epoch == epoch && lease->hedge)
                cw_set_remove_all(gone, &lease->items);
        }
    }
}

/* Frees those of the items `gone`, just taken from leases of one share, that no other lease of the
 * job holds. hedged: some of these leases are hedges. Without one the cost does not depend on how
 * many workers the job has: many may be lost at once. */
static void make_free(struct cw_job *job, uint64_t number, struct cw_set *gone, bool hedged)
{
    if (hedged)
        leave_hedged(job, number, gone);
    struct cw_epoch *epoch = cw_job_epoch(job, number);
    if (epoch)
        cw_epoch_free(epoch, gone);
}

/* Of items that were taken out of the share's leases. Frees the set. */
static void return_items(struct cw_share *share, uint64_t epoch, struct cw_set *gone, bool hedged,
                         bool tell)
{
    if (tell)
        cw_lease_revoke(share->worker, share->job, epoch, gone);
    make_free(share->job, epoch, gone, hedged);
    cw_set_fini(gone);
    drop_empty(share);
    cw_job_leases_due(share->job);
}

void cw_lease_free(struct cw_share *share, uint64_t epoch, const struct cw_set *items, bool tell)
{
    struct cw_set gone = {0};
    bool hedged = false;
    for (struct cw_lease *lease = share->leases; lease; lease = lease->next) {
        if (lease->epoch != epoch)
            continue;
        lease_remove(share, lease, items, &gone);
        hedged = hedged || lease->hedge;
    }
    return_items(share, epoch, &gone, hedged, tell);
}

static bool has_hedge(const struct cw_share *share, uint64_t epoch)
{
    const struct cw_lease *lease = share->leases;
    while (lease && !(lease->epoch == epoch && lease->hedge))
        lease = lease->next;
    return lease != NULL;
}

/* A lease may have very many intervals: they are not copied. */
void cw_lease_free_all(struct cw_share *share, bool tell)
{
    while (share->leases) {
        struct cw_lease *lease = share->leases;
        uint64_t epoch = lease->epoch;
        bool hedged = has_hedge(share, epoch);
        struct cw_set gone = lease->items;
        lease->items = (struct cw_set){0};
        share->todo_n -= cw_set_count(&lease->todo);
        cw_set_clear(&lease->todo);
        return_items(share, epoch, &gone, hedged, tell);
    }
}

/* Sets ret_items to the items of a lease that the consumer is to receive. */
static void items_for(const struct cw_layout *layout, const struct cw_lease *lease,
                      uint32_t consumer, struct cw_set *ret_items)
{
    bool all = layout->mode == CW_MODE_SINGLE || layout->to_all ||
               (layout->mode == CW_MODE_SHARED && lease->consumer == consumer);
    cw_set_clear(ret_items);
    if (all)
        cw_set_copy(ret_items, &lease->items);
    if (all || layout->mode == CW_MODE_SHARED)
        return;
    for (size_t i = 0; i < lease->items.n; i++) {
        uint64_t n = layout->consumers, lo = lease->items.v[i].lo;
        for (uint64_t item = lo + (consumer + n - lo % n) % n; item < lease->items.v[i].hi;
             item += n)
            cw_set_add(ret_items, item, item + 1);
    }
}

void cw_lease_free_consumer(struct cw_share *share, uint32_t consumer)
{
    struct cw_set items = {0};
    for (const struct cw_lease *lease = share->leases; lease;) {
        items_for(&share->job->layout, lease, consumer, &items);
        if (items.n > 0)
            cw_lease_free(share, lease->epoch, &items, true);
        /* Leases that are empty now are freed, perhaps this one. */
        lease = items.n > 0 ? share->leases : lease->next;
    }
    cw_set_fini(&items);
}

void cw_lease_free_job(struct cw_job *job)
{
    for (struct cw_share *share = job->shares; share; share = share->next_of_job)
        cw_lease_free_all(share, true);
}

void cw_lease_done(struct cw_share *share, const Cachew__V1__Progress__Done *done)
{
    struct cw_job *job = share->job;
    struct cw_set said = {0};
    if (cw_wire_set_from(done->items, done->n_items, &said, NULL) != 0)
        cw_set_clear(&said);
    cw_set_remove(&said, job->items, UINT64_MAX);
    uint64_t n = cw_set_count(&said);
    for (struct cw_lease *lease = share->leases; lease; lease = lease->next) {
        if (lease->epoch != done->epoch)
            continue;
        uint64_t before = cw_set_count(&lease->todo);
        cw_set_remove_all(&lease->todo, &said);
        share->todo_n -= before - cw_set_count(&lease->todo);
    }
    cw_set_fini(&said);
    share->done_n += n;
    share->worker->done_n += n;
    job->usage.elements += done->elements;
    job->usage.bytes += done->bytes;
    job->skipped += done->skipped;
    job->usage.cpu_ns += done->cpu_ns;
    job->shared += CW_MIN(done->shared, n);
    if (n > 0)
        cw_other_files_computed(share);
    if (n > 0)
        cw_share_retarget(share, done, n, cw_clock_ms());
    /* Otherwise no share could get more than at the last fill. */
    if (cw_share_allowance(share, false) > 0)
        cw_job_leases_due(job);
}

/* Returns the lease that what a worker holds of an epoch joins: a hello may name it in many pieces. */
static struct cw_lease *adopted_of(const struct cw_share *share, uint64_t epoch)
{
    struct cw_lease *lease = share->leases;
    while (lease && lease->epoch != epoch)
        lease = lease->next;
    return lease;
}

/* What is computed needs no time any more, although it is not received. */
static void take_computed(struct cw_share *share, struct cw_lease *lease,
                          const Cachew__V1__HeldLease *held)
{
    struct cw_set done = {0};
    const uint64_t before = cw_set_count(&lease->todo);
    if (cw_wire_set_from(held->done, held->n_done, &done, NULL) == 0)
        cw_set_remove_all(&lease->todo, &done);
    share->todo_n -= before - cw_set_count(&lease->todo);
    cw_set_fini(&done);
}

static void adopt(struct cw_job *job, struct cw_worker *worker, const Cachew__V1__HeldLease *held,
                  struct cw_set *claimed)
{
    struct cw_set kept = {0};
    if (claimed->n > 0 && job->hold_until_ms > cw_clock_ms())
        cw_scaling_keep_worker(job, worker);
    struct cw_epoch *epoch = job->status == CW_JOB_RUNNING && cw_worker_serves(worker, job)
                                 ? cw_job_open_epoch(job, held->epoch)
                                 : NULL;
    for (size_t i = 0; epoch && epoch->layout.mode != CW_MODE_SHARED && i < claimed->n; i++) {
        struct cw_interval run;
        for (uint64_t at = claimed->v[i].lo;
             cw_epoch_free_run(epoch, at, claimed->v[i].hi, UINT64_MAX, &run); at = run.hi)
            cw_set_add(&kept, run.lo, run.hi);
    }
    if (kept.n > 0) {
        struct cw_share *share = cw_share_get(job, worker);
        take_computed(
            share, cw_lease_add(share, epoch, &kept, adopted_of(share, held->epoch), false), held);
        epoch->front = CW_MAX(epoch->front, kept.v[kept.n - 1].hi);
        cw_job_worker_list_due(job);
    }
    cw_set_remove_all(claimed, &kept);
    cw_lease_revoke(worker, job, held->epoch, claimed);
    cw_set_fini(&kept);
}

void cw_lease_adopt(struct cw_worker *worker, const Cachew__V1__HeldLease *held)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, held->job_id);
    struct cw_set claimed = {0};
    if (job && cw_wire_set_from(held->items, held->n_items, &claimed, NULL) == 0) {
        cw_share_get(job, worker)->has_job = true;
        adopt(job, worker, held, &claimed);
    }
    cw_set_fini(&claimed);
}
