/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what is kept twice for speed with its source. Builds with fault points do this at the
 * end of some loop iterations. */
#include "base/compiler.h"
#include "dispatcher/model/model.h"

#ifdef CW_FAULTS

#define EVERY 16 /* The check runs in one of this many loop iterations. */

static void check_share(const struct cw_share *share)
{
    uint64_t todo_n = 0;
    for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
        todo_n += cw_set_count(&lease->todo);
    CW_ASSERT(share->todo_n == todo_n);
}

static bool is_within(const struct cw_set *set, const struct cw_set *all)
{
    for (size_t i = 0; i < set->n; i++)
        if (!cw_set_has_range(all, set->v[i].lo, set->v[i].hi))
            return false;
    return true;
}

static bool is_apart(const struct cw_set *a, const struct cw_set *b)
{
    uint64_t first;
    for (size_t i = 0; i < a->n; i++)
        if (cw_set_first_present(b, a->v[i].lo, &first) && first < a->v[i].hi)
            return false;
    return true;
}

/* Of several consumers: what all have is the epoch's; what is one's own is nobody else's, and is
 * not consumed. */
static void check_parts(const struct cw_epoch *epoch)
{
    struct cw_set owned = {0};
    for (uint32_t c = 0; epoch->parts && c < epoch->layout.consumers; c++) {
        const struct cw_epoch_part *part = &epoch->parts[c];
        if (epoch->layout.to_all) {
            CW_ASSERT(is_within(&part->consumed, &part->received));
            CW_ASSERT(is_within(&epoch->consumed, &part->consumed));
            CW_ASSERT(is_within(&epoch->received, &part->received));
        }
        CW_ASSERT(is_apart(&part->owned, &owned) && is_apart(&part->owned, &epoch->consumed));
        cw_set_add_all(&owned, &part->owned);
    }
    cw_set_fini(&owned);
}

/* Leases have no item together, unless both are hedges. */
static void check_hedges(const struct cw_lease *lease, struct cw_set *plain, struct cw_set *hedged)
{
    CW_ASSERT(is_apart(&lease->items, plain));
    CW_ASSERT(lease->hedge || is_apart(&lease->items, hedged));
    cw_set_add_all(lease->hedge ? hedged : plain, &lease->items);
}

/* An item is leased if and only if a lease holds it; what is received is leased no more; and where
 * nobody looks for free items there is none: it would never be leased. */
static void check_epoch(const struct cw_job *job, const struct cw_epoch *epoch)
{
    struct cw_set leased = {0}, hedged = {0}, plain = {0};
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            CW_ASSERT(is_within(&lease->todo, &lease->items));
            if (lease->epoch == epoch->number)
                check_hedges(lease, &plain, &hedged);
        }
    cw_set_add_all(&leased, &plain);
    cw_set_add_all(&leased, &hedged);
    cw_set_fini(&plain);
    cw_set_fini(&hedged);
    CW_ASSERT(cw_set_eq(&leased, &epoch->leased));
    CW_ASSERT(is_apart(&leased, &epoch->received));
    CW_ASSERT(is_within(&epoch->consumed, &epoch->received));
    CW_ASSERT(is_within(&epoch->skipped, &epoch->consumed));
    cw_set_add_all(&leased, &epoch->received);
    CW_ASSERT(cw_set_first_absent(&leased, 0) >= epoch->none_free_below);
    cw_set_fini(&leased);
    check_parts(epoch);
}

static void check_job(const struct cw_job *job)
{
    uint32_t barred_n = 0;
    uint64_t hedges_n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        check_share(share);
        barred_n += share->barred;
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
            hedges_n += lease->hedge;
    }
    CW_ASSERT(job->barred_n == barred_n && job->hedges_out == hedges_n);
    for (size_t i = 0; i < job->epochs_open; i++)
        check_epoch(job, job->epochs[i]);
}

/* How many workers any job may use, how many jobs each prepares, and the clients of each job. */
static void check_links(const struct cw_dispatcher *d)
{
    size_t preparing_n = 0, told_n = 0, clients_n = 0, common_n = 0;
    for (const struct cw_worker *worker = d->workers; worker; worker = worker->next) {
        told_n += worker->preparing_n;
        common_n += cw_worker_serves_any_job(worker);
    }
    CW_ASSERT(common_n == d->common_n);
    for (const struct cw_client *client = d->clients; client; client = client->next)
        clients_n += client->job != NULL;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        preparing_n += job->preparing != NULL;
        for (const struct cw_client *client = job->clients; client; client = client->next_of_job) {
            CW_ASSERT(client->job == job && clients_n > 0);
            clients_n--;
        }
    }
    CW_ASSERT(told_n == preparing_n && clients_n == 0);
}

/* What is due for a job or client is found where the end of the iteration looks. */
static void check_due(const struct cw_dispatcher *d)
{
    size_t listed_n = 0;
    for (const struct cw_job *job = d->due_jobs; job; job = job->next_due)
        listed_n++;
    for (const struct cw_job *job = d->jobs; job; job = job->next) {
        bool due = job->due.worker_list || (job->due.leases && job->status == CW_JOB_RUNNING);
        CW_ASSERT(job->due.is_listed || !due);
        CW_ASSERT(d->due.stored_rows || job->stored || !job->row_written);
        CW_ASSERT(d->due.stored_plans || !job->plan.is_good);
        CW_ASSERT(d->due.stored_leases || !job->has_unsent_leases);
        CW_ASSERT(d->due.held_jobs || job->hold_until_ms == 0);
        listed_n -= job->due.is_listed;
    }
    CW_ASSERT(listed_n == 0);
    for (const struct cw_client *client = d->clients; client; client = client->next)
        CW_ASSERT(d->due.clients ||
                  !(client->due.rest || client->due.welcome || client->due.admission));
}

void cw_check_derived(const struct cw_dispatcher *d)
{
    static unsigned cycles;
    if (cycles++ % EVERY != 0)
        return;
    for (const struct cw_job *job = d->jobs; job; job = job->next)
        check_job(job);
    check_links(d);
    check_due(d);
}

#else

void cw_check_derived(const struct cw_dispatcher *d)
{
    (void)d;
}

#endif
