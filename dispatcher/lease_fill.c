/* SPDX-License-Identifier: Apache-2.0 */
/* Who computes what: the lowest free items first, to whoever has less to do than its target, job after job in turn; and hedges: a
 * second lease of what is late while somebody has nothing to do. */
#include "dispatcher/caching.h"
#include "dispatcher/lease.h"

#define HEDGE_FACTOR 3.0
#define HEDGE_MIN_MS 1000
#define HEDGE_SHARE 20 /* one in so many items */

static void send_spec(struct cw_share *share)
{
    const struct cw_job *job = share->job;
    cw_caching_tell_share(share);
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    spec.job_id = job->id;
    spec.graph = job->graph;
    spec.seed = job->seed;
    if (job->manifest)
        spec.manifest = (ProtobufCBinaryData){job->manifest->len, job->manifest->data};
    spec.skip_bad = job->options->skip_bad;
    spec.consumers = job->layout.consumers;
    spec.each_item_to_all = job->layout.to_all;
    spec.shared = job->layout.mode == CW_MODE_SHARED;
    spec.tenant = (char *)(uintptr_t)cw_job_tenant(job);
    spec.cache = cw_job_cache_uses(job, &spec.n_cache);
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_JOB;
    command.job = &spec;
    cw_worker_send(share->worker, &command);
    cw_mem_free(spec.cache);
    share->spec_sent = true;
}

static void send_lease(struct cw_share *share, const struct cw_epoch *epoch, const struct cw_set *items, uint32_t consumer)
{
    if (!share->spec_sent)
        send_spec(share);
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    id.generation = share->job->d->generation;
    id.counter = share->job->d->lease_counter;
    Cachew__V1__Lease lease = CACHEW__V1__LEASE__INIT;
    lease.lease = &id;
    lease.job_id = share->job->id;
    lease.epoch = epoch->number;
    lease.items = cw_wire_set_to(items, &lease.n_items);
    lease.consumer = consumer;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_LEASE;
    command.lease = &lease;
    cw_worker_send(share->worker, &command);
    cw_mem_free(lease.items);
    cw_fault_point("dispatcher.lease");
}

static bool give(struct cw_share *share, struct cw_epoch *epoch, const struct cw_set *items, bool hedge, uint32_t consumer)
{
    if (epoch->layout.mode == CW_MODE_SHARED && !cw_job_own(share->job, epoch, consumer, items))
        return false;
    cw_lease_add(share, epoch, items, hedge);
    send_lease(share, epoch, items, consumer);
    return true;
}

/* Shared: the attached consumer that has least in hand. Of later epochs nothing counts: it waits until this one is done, and the
 * items of a consumer that died must find somebody. */
static bool pick_consumer(const struct cw_job *job, const struct cw_epoch *epoch, uint32_t *ret_consumer)
{
    uint64_t best = UINT64_MAX, bound = CW_MAX(job->window / job->layout.consumers, 1);
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        if (!job->consumers[c].client)
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

/* Shared: for whom the run is. Items that were leased for somebody before are for him again; run is cut where the owner changes. */
static bool find_owner(const struct cw_job *job, const struct cw_epoch *epoch, struct cw_interval *run, uint32_t *ret_consumer)
{
    for (uint32_t c = 0; c < job->layout.consumers; c++) {
        const struct cw_set *owned = &epoch->parts[c].owned;
        uint64_t next;
        if (cw_set_has(owned, run->lo)) {
            run->hi = CW_MIN(run->hi, cw_set_first_absent(owned, run->lo));
            *ret_consumer = c;
            return job->consumers[c].client != NULL;
        }
        if (cw_set_first_present(owned, run->lo, &next))
            run->hi = CW_MIN(run->hi, next);
    }
    return pick_consumer(job, epoch, ret_consumer);
}

/* The lowest free run that this share may have, in the first epoch that has one below the window's end. Idle: there was none but what is
 * better done by others. */
static struct cw_epoch *find_run(struct cw_share *share, size_t jobs_n, bool idle, struct cw_interval *ret_run, uint32_t *ret_consumer)
{
    struct cw_job *job = share->job;
    if (job->items == 0)
        return NULL;
    struct cw_epoch *first = cw_job_open_epoch(job, job->first_epoch);
    if (!first)
        return NULL;
    bool shared = job->layout.mode == CW_MODE_SHARED;
    /* Shared: what each consumer may have in hand is the bound, so that a slow one does not hold the others. */
    uint64_t limit = shared ? 2 * job->items : cw_epoch_lowest_unconsumed(first) + job->window;
    for (uint64_t i = 0; i < CW_EPOCHS_AHEAD && i <= limit / job->items; i++) {
        uint64_t base = i * job->items;
        if (base >= limit)
            break;
        struct cw_epoch *epoch = cw_job_open_epoch(job, job->first_epoch + i);
        if (!epoch)
            break;
        uint64_t from = 0;
        while (cw_epoch_free_run(epoch, from, limit - base, UINT64_MAX, ret_run)) {
            if ((shared && !find_owner(job, epoch, ret_run, ret_consumer)) || !cw_sibling_allows(share, epoch->number, ret_run, jobs_n, idle)) {
                from = ret_run->hi;
                continue;
            }
            uint64_t n = job->troubles_n > 0 ? cw_trouble_allows(share, epoch->number, ret_run) : UINT64_MAX;
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

/* How many items the share may get: up to its target when it has less than half of that; and what was lost elsewhere even when it has
 * enough, since workers compute the lowest items first and the client waits for them (hole). */
uint64_t cw_share_room(const struct cw_share *share, size_t jobs_n, bool hole)
{
    const struct cw_job *job = share->job;
    uint64_t fixed = job->options->lease_items;
    uint64_t target = fixed > 0 ? 2 * fixed : CW_MAX(share->target / CW_MAX(jobs_n, 1), share->worker->threads);
    if (hole && share->todo_n < 2 * target)
        return CW_MIN(fixed > 0 ? fixed : target, CW_LEASE_MAX);
    if (fixed > 0)
        return share->todo_n < fixed ? fixed : 0;
    return share->todo_n > target / 2 ? 0 : CW_MIN(target - share->todo_n, CW_LEASE_MAX);
}

/* Free, and below something that is leased: it was lost. */
static bool is_hole(const struct cw_job *job, const struct cw_epoch *epoch, uint64_t item)
{
    for (size_t i = epoch->number - job->first_epoch + 1; i < job->epochs_open; i++) {
        if (job->epochs[i]->leased.n > 0)
            return true;
    }
    return epoch->leased.n > 0 && epoch->leased.v[epoch->leased.n - 1].lo > item;
}

static bool fill_one(struct cw_share *share, int64_t now, size_t jobs_n, size_t workers_n)
{
    uint32_t consumer = 0;
    struct cw_interval run;
    if (share->shut_until_ms > now)
        return false;
    struct cw_epoch *epoch = find_run(share, jobs_n, false, &run, &consumer);
    if (!epoch && share->todo_n == 0)
        epoch = find_run(share, jobs_n, true, &run, &consumer);
    share->full = epoch != NULL;
    if (!epoch)
        return false;
    uint64_t max = cw_share_room(share, jobs_n, is_hole(share->job, epoch, run.lo));
    if (max == 0)
        return false;
    uint64_t n = run.hi - run.lo;
    if (share->job->options->lease_items == 0)
        n = CW_MIN(n, CW_MAX((n + workers_n - 1) / workers_n, share->worker->threads));
    if (share->job->layout.mode == CW_MODE_SHARED)
        n = CW_MIN(n, CW_MAX(share->job->window / share->job->layout.consumers / 2, 1));
    n = CW_MIN(n, max);
    struct cw_set items = {0};
    cw_set_add(&items, run.lo, run.lo + n);
    bool given = give(share, epoch, &items, false, consumer);
    cw_set_fini(&items);
    return given;
}

/* What of the lease's work nobody else computes. */
static void only_its(const struct cw_job *job, const struct cw_lease *lease, struct cw_set *ret_items)
{
    cw_set_copy(ret_items, &lease->todo);
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        for (const struct cw_lease *other = share->leases; other; other = other->next) {
            for (size_t i = 0; other != lease && other->epoch == lease->epoch && i < other->items.n; i++)
                cw_set_remove(ret_items, other->items.v[i].lo, other->items.v[i].hi);
        }
    }
}

static double silent_ms(const struct cw_share *share, const struct cw_lease *lease, int64_t now)
{
    return (double)(now - CW_MAX(lease->given_ms, share->done_ms));
}

/* The lowest work of a worker from which nothing has come for too long, and that nobody else computes. */
static struct cw_lease *find_late(const struct cw_share *share, int64_t now, struct cw_set *ret_items)
{
    const struct cw_job *job = share->job;
    double limit = CW_MAX(HEDGE_MIN_MS, HEDGE_FACTOR * job->item_ns / 1e6);
    bool few = job->hedged <= job->leased_n / HEDGE_SHARE + 4; /* more only for a worker that is as good as dead */
    struct cw_lease *best = NULL;
    for (struct cw_share *other = job->shares; other; other = other->next_of_job) {
        for (struct cw_lease *lease = other->leases; other != share && lease; lease = lease->next) {
            if (lease->todo.n == 0 || silent_ms(other, lease, now) < (few ? limit : 5 * limit))
                continue;
            if (best && (best->epoch < lease->epoch || (best->epoch == lease->epoch && best->todo.v[0].lo < lease->todo.v[0].lo)))
                continue;
            struct cw_set items = {0};
            only_its(job, lease, &items);
            if (items.n > 0) {
                best = lease;
                cw_set_copy(ret_items, &items);
            }
            cw_set_fini(&items);
        }
    }
    return best;
}

/* This worker has nothing to do, and there is nothing free: it computes as well what is late elsewhere. The first copy wins. */
static void hedge_one(struct cw_share *share, int64_t now)
{
    struct cw_job *job = share->job;
    if (share->todo_n > 0 || share->shut_until_ms > now || job->item_ns <= 0 || job->layout.mode == CW_MODE_SHARED || job->options->at_most_once)
        return;
    struct cw_set late = {0}, items = {0};
    struct cw_lease *lease = find_late(share, now, &late);
    struct cw_epoch *epoch = lease ? cw_job_epoch(job, lease->epoch) : NULL;
    for (size_t i = 0, left = share->worker->threads; epoch && left > 0 && i < late.n; i++) {
        uint64_t n = CW_MIN(left, late.v[i].hi - late.v[i].lo);
        cw_set_add(&items, late.v[i].lo, late.v[i].lo + n);
        left -= n;
    }
    if (items.n > 0) {
        job->hedges_out += !lease->hedge;
        lease->hedge = true;
        job->hedged += cw_set_count(&items);
        (void)give(share, epoch, &items, true, 0);
    }
    cw_set_fini(&items);
    cw_set_fini(&late);
}

static bool fill_job(struct cw_job *job, int64_t now, size_t jobs_n, size_t workers_n, bool hedge)
{
    bool any = false;
    for (struct cw_worker *worker = job->d->workers; worker; worker = worker->next) {
        if (!cw_worker_serves(worker, job))
            continue;
        struct cw_share *share = cw_share_get(job, worker);
        if (fill_one(share, now, jobs_n, workers_n))
            any = true;
        else if (hedge)
            hedge_one(share, now);
    }
    return any;
}

static bool is_ready(const struct cw_job *job, int64_t now)
{
    return job->want_fill && job->status == CW_JOB_RUNNING && job->stored && job->hold_until_ms <= now && !cw_caching_is_blind(job, now);
}

void cw_lease_fill_all(struct cw_dispatcher *d)
{
    int64_t now = cw_clock_ms();
    size_t running = 0;
    bool any = false;
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        running += job->status == CW_JOB_RUNNING && job->stored && job->alone_ms == 0;
        any = any || is_ready(job, now);
    }
    if (!any || d->stopping)
        return;
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        size_t threads = 0;
        for (struct cw_worker *worker = d->workers; worker; worker = worker->next)
            threads += cw_worker_serves(worker, job) ? worker->threads : 0;
        if (is_ready(job, now))
            job->window = cw_window_items(job, threads);
    }
    for (bool first = true; any; first = false) {
        any = false;
        for (struct cw_job *job = d->jobs; job; job = job->next) {
            if (is_ready(job, now) && fill_job(job, now, running, CW_MAX(d->workers_n, 1), first))
                any = true;
        }
    }
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        if (is_ready(job, now))
            job->want_fill = false;
    }
}
