/* SPDX-License-Identifier: Apache-2.0 */
/* Each function below looks for one kind of reason, and returns whether it is the one. They are
 * asked in order: what keeps the whole job, and then what keeps the item that the trainer lacks. */
#include "dispatcher/job/waits_for.h"

#include "dispatcher/cache/cache.h"
#include "dispatcher/job/job.h"

#define NAMED_MAX 4         /* So many workers or consumers are named. */
#define SEARCH_MAX 4096     /* So many items are looked at for the one that a consumer lacks. */
#define SILENT_MS 1000      /* A worker that was not heard of for so long is said to be silent. */
#define SLOW_COUNTS_MS 5000 /* The time for which a worker's report of a slow item counts. */

#define KIND(word) CACHEW__V1__WAIT_KIND__WAIT_##word

struct asker {
    struct cw_client *client;
    struct cw_job *job;
    const struct cw_consumer *slot;
    uint32_t consumer;
    int64_t now;
};
/* The item that a trainer lacks. */
struct lacking {
    uint64_t epoch, item, at; /* at: counted from the beginning of the first open epoch. */
};

void cw_job_waits_fini(struct cw_job_waits *waits)
{
    cw_str_fini(&waits->text);
}

static bool because(struct cw_job_waits *waits, Cachew__V1__WaitKind kind, int64_t since_ms)
{
    waits->kind = kind;
    waits->since_ms = since_ms;
    return true;
}

/* ---- what keeps the whole job ---- */

static bool has_worker(const struct cw_job *job)
{
    struct cw_serving serving = {.job = job};
    if (job->status != CW_JOB_PREPARING)
        return cw_serving_next(&serving) != NULL;
    const struct cw_worker *worker = job->preparing ? NULL : job->d->workers;
    while (worker && !cw_job_may_prepare(worker, job))
        worker = worker->next;
    return job->preparing || worker;
}

static bool for_no_worker(const struct asker *a, struct cw_job_waits *waits)
{
    uint32_t others_n = 0;
    const char *others = cw_other_files_text(a->job, &others_n);
    if (has_worker(a->job))
        return false;
    if (others)
        cw_str_addf(&waits->text, "no worker sees the files that the job was prepared with: %s",
                    others);
    else if (cw_operators_lacking(a->job, &waits->text))
        cw_str_add(&waits->text, " (cachew-worker --plugin FILE)");
    else if (a->job->is_unchecked)
        cw_str_add(&waits->text, "no worker is connected to the dispatcher, and the pipeline has "
                                 "operators of plugins: start cachew-worker --dispatcher with its "
                                 "address and --plugin FILE");
    else
        cw_str_add(&waits->text, "no worker is connected to the dispatcher: start cachew-worker "
                                 "--dispatcher with its address");
    return because(waits, KIND(NO_WORKER), a->job->no_worker_ms);
}

static bool for_preparation(const struct asker *a, struct cw_job_waits *waits)
{
    const struct cw_job *job = a->job;
    if (job->status != CW_JOB_PREPARING)
        return false;
    cw_str_addf(&waits->text, "a worker prepares the job: it opens and indexes the sources");
    if (job->preparing) {
        waits->worker_id = job->preparing->id;
        cw_str_addf(&waits->text, " (worker %s", job->preparing->address);
        if (job->preparing_at)
            cw_str_addf(&waits->text, ", at %s", job->preparing_at);
        if (job->preparing_reports && a->now - job->preparing_ms >= SLOW_COUNTS_MS)
            cw_str_addf(&waits->text, ", without progress for %lld s",
                        (long long)(a->now - job->preparing_ms) / 1000);
        cw_str_add(&waits->text, ")");
    }
    return because(waits, KIND(PREPARING), job->no_worker_ms);
}

static bool for_dispatcher(const struct asker *a, struct cw_job_waits *waits)
{
    const struct cw_job *job = a->job;
    if (a->client->due.welcome) {
        cw_str_addf(&waits->text, "the dispatcher stores the job%s%s",
                    job->d->unwritten ? ", and tries again: " : "",
                    job->d->unwritten ? job->d->unwritten_why : "");
        return because(waits, KIND(DISPATCHER), job->no_worker_ms);
    }
    if (job->hold_until_ms > a->now)
        cw_str_add(&waits->text, "the dispatcher was started again, and waits for the workers and "
                                 "trainers that were attached");
    else if (!job->stored)
        cw_str_addf(&waits->text, "the dispatcher cannot store the job yet: %s",
                    job->d->unwritten ? job->d->unwritten_why : "its disk is slow");
    else if (cw_cache_awaits_listing(job, a->now))
        cw_str_add(&waits->text, "the dispatcher lists what is in the cache store");
    return waits->text.len > 0 && because(waits, KIND(DISPATCHER), a->slot->moved_ms);
}

/* ---- what keeps the item that the trainer lacks ---- */

/* Returns the lowest item of the epoch at or above `from` that the consumer lacks and may get. */
static uint64_t next_lacking(const struct asker *a, const struct cw_epoch *epoch, uint64_t from)
{
    const struct cw_layout *layout = &epoch->layout;
    if (layout->to_all)
        return cw_epoch_first_unreceived(epoch, a->consumer);
    for (int i = 0; i < SEARCH_MAX && from < epoch->items; i++, from++) {
        from = cw_set_first_absent(&epoch->received, from);
        bool other = layout->mode == CW_MODE_COORDINATED && from % layout->consumers != a->consumer;
        for (uint32_t c = 0; layout->mode == CW_MODE_SHARED && c < layout->consumers && !other; c++)
            other = c != a->consumer && cw_set_has(&epoch->parts[c].owned, from);
        if (!other)
            return from;
    }
    return epoch->items;
}

/* A consumer of a shared job that has gone on gets nothing more of an epoch. */
static bool is_past(const struct asker *a, const struct cw_epoch *epoch)
{
    return epoch->layout.mode == CW_MODE_SHARED && a->slot->position.epoch > epoch->number;
}

static bool find_lacking(const struct asker *a, struct lacking *ret_lacking)
{
    const struct cw_job *job = a->job;
    uint64_t i = 0, item = job->items;
    for (; i < job->epochs_open && item >= job->items; i += item >= job->items)
        item = is_past(a, job->epochs[i]) ? job->items : next_lacking(a, job->epochs[i], 0);
    if (item >= job->items) /* Epochs are opened when something of them is leased. */
        item = job->layout.mode == CW_MODE_COORDINATED && !job->layout.to_all ? a->consumer : 0;
    *ret_lacking = (struct lacking){job->first_epoch + i, item, i * job->items + item};
    return item < job->items && (job->epochs_n == 0 || ret_lacking->epoch < job->epochs_n);
}

static void name_item(const struct lacking *l, struct cw_str *out)
{
    cw_str_addf(out, "item %llu of epoch %llu", (unsigned long long)l->item,
                (unsigned long long)l->epoch);
}

static void say_slow(const struct asker *a, const struct cw_share *share, const struct lacking *l,
                     struct cw_str *out)
{
    bool recent = share->slow_since_ms > 0 && a->now - share->slow_heard_ms < SLOW_COUNTS_MS;
    if (recent && share->slow_at)
        cw_str_addf(out, ", which opens the sources of the job, and is at %s", share->slow_at);
    else if (recent && share->slow_epoch == l->epoch && share->slow_item == l->item)
        cw_str_addf(out, ", which has computed it for %lld s",
                    (long long)(a->now - share->slow_since_ms) / 1000);
    else if (recent)
        cw_str_addf(out, ", which has computed item %llu of epoch %llu for %lld s",
                    (unsigned long long)share->slow_item, (unsigned long long)share->slow_epoch,
                    (long long)(a->now - share->slow_since_ms) / 1000);
    if (a->now - share->worker->last_heard_ms >= SILENT_MS)
        cw_str_addf(out, ", and has said nothing for %lld s",
                    (long long)(a->now - share->worker->last_heard_ms) / 1000);
}

/* A worker has the item. */
static bool for_worker_with(const struct asker *a, const struct lacking *l,
                            struct cw_job_waits *waits)
{
    for (const struct cw_share *share = a->job->shares; share; share = share->next_of_job)
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            if (lease->epoch != l->epoch || !cw_set_has(&lease->items, l->item))
                continue;
            waits->worker_id = share->worker->id;
            name_item(l, &waits->text);
            if (cw_set_has(&lease->todo, l->item))
                cw_str_addf(&waits->text, " is at worker %s", share->worker->address);
            else
                cw_str_addf(&waits->text,
                            " was computed by worker %s, and has not reached this trainer",
                            share->worker->address);
            say_slow(a, share, l, &waits->text);
            return because(waits, KIND(COMPUTING), a->slot->moved_ms);
        }
    return false;
}

/* Another consumer holds the window back, or this one does. */
static bool for_consumer(const struct asker *a, struct cw_job_waits *waits)
{
    const struct cw_job *job = a->job;
    size_t named = 0;
    for (uint32_t c = 0; c < job->layout.consumers && named < NAMED_MAX; c++) {
        const struct cw_consumer *other = &job->consumers[c];
        bool has_all = job->epochs_n > 0 && other->position.epoch >= job->epochs_n;
        if (c == a->consumer || has_all || (other->client && other->ready == 0))
            continue;
        cw_str_addf(&waits->text, "%sconsumer %u of %u ", named++ > 0 ? "; " : "", c,
                    job->layout.consumers);
        if (other->client)
            cw_str_addf(&waits->text, "does not take the %llu batches that it has",
                        (unsigned long long)other->ready);
        else
            cw_str_addf(&waits->text, "is not there%s",
                        other->client_id == 0 ? ", and never was" : "");
    }
    return named > 0 && because(waits, KIND(CONSUMER), a->slot->moved_ms);
}

static bool is_in_window(const struct asker *a, const struct lacking *l)
{
    const struct cw_job *job = a->job;
    uint64_t own = 0;
    if (l->at >= cw_job_window_end(a->job))
        return false;
    if (job->layout.mode != CW_MODE_SHARED)
        return true;
    for (size_t e = 0; e < job->epochs_open && job->epochs[e]->number <= l->epoch; e++)
        own += cw_set_count(&job->epochs[e]->parts[a->consumer].owned);
    return own < CW_MAX(job->window / job->layout.consumers, 1);
}

static bool for_window(const struct asker *a, const struct lacking *l, struct cw_job_waits *waits)
{
    if (is_in_window(a, l))
        return false;
    if (for_consumer(a, waits))
        return true;
    cw_str_addf(&waits->text,
                "this trainer has not asked for more than it was given (the window "
                "is %llu items)",
                (unsigned long long)a->job->window);
    return because(waits, KIND(TRAINER), a->slot->moved_ms);
}

/* No worker that serves the job can be reached by the client. */
static bool for_unreachable(const struct asker *a, struct cw_job_waits *waits)
{
    size_t named = 0;
    for (const struct cw_share *share = a->job->shares; share; share = share->next_of_job) {
        if (!cw_share_serves(share))
            continue;
        const struct cw_unreachable *report = cw_unreachable_find(share, a->consumer, a->now);
        if (!report && !cw_unreachable_bars(share, a->now))
            return false;
        report = report ? report : cw_unreachable_any(share, a->now);
        if (named++ < NAMED_MAX)
            cw_str_addf(&waits->text, "%sworker %s cannot be reached by consumer %u: %s",
                        named > 1 ? "; " : "", share->worker->address, report->consumer,
                        report->why);
        waits->worker_id = share->worker->id;
    }
    return named > 0 && because(waits, KIND(WORKER), a->slot->moved_ms);
}

static bool has_leases(const struct cw_job *job)
{
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        if (share->leases)
            return true;
    return false;
}

static bool for_item(const struct asker *a, struct cw_job_waits *waits)
{
    struct lacking l;
    if (!find_lacking(a, &l))
        return false;
    if (for_worker_with(a, &l, waits) || for_window(a, &l, waits))
        return true;
    if (for_unreachable(a, waits))
        return true;
    cw_str_clear(&waits->text);
    waits->worker_id = 0;
    bool others = has_leases(a->job);
    name_item(&l, &waits->text);
    cw_str_addf(&waits->text,
                others ? " is not begun: the %zu workers of the job have others"
                       : " could be computed by %zu workers, and is not",
                a->job->workers_n);
    return because(waits, others ? KIND(COMPUTING) : KIND(UNKNOWN), a->slot->moved_ms);
}

/* ---- asking ---- */

static bool is_running(const struct asker *a)
{
    const struct cw_job *job = a->job;
    bool has_all = job->epochs_n > 0 && a->slot->position.epoch >= job->epochs_n;
    return job->status == CW_JOB_RUNNING && a->client->welcomed && a->slot->client == a->client &&
           !has_all;
}

static bool for_place(const struct asker *a, struct cw_job_waits *waits)
{
    if (a->client->admitted || a->client->place_wait_ms == 0)
        return false;
    cw_str_addf(&waits->text, "another process holds the place of consumer %u", a->consumer);
    return because(waits, KIND(CONSUMER), a->client->place_wait_ms);
}

bool cw_client_waits(struct cw_client *client, int64_t now, struct cw_job_waits *ret_waits)
{
    struct cw_job *job = client->job;
    struct asker a = {client, job, &job->consumers[client->consumer], client->consumer, now};
    *ret_waits = (struct cw_job_waits){0};
    if (job->status != CW_JOB_PREPARING && job->status != CW_JOB_RUNNING)
        return false;
    bool found = for_place(&a, ret_waits);
    if (!found && (job->status == CW_JOB_PREPARING || !client->welcomed))
        found = for_no_worker(&a, ret_waits) || for_preparation(&a, ret_waits) ||
                (client->due.welcome && for_dispatcher(&a, ret_waits));
    else if (!found && is_running(&a) && a.slot->ready == 0 &&
             now - a.slot->moved_ms >= CW_WAITS_MS)
        found = for_dispatcher(&a, ret_waits) || for_no_worker(&a, ret_waits) ||
                for_item(&a, ret_waits);
    return found;
}

bool cw_job_waits(struct cw_job *job, int64_t now, struct cw_job_waits *ret_waits)
{
    bool found = false;
    *ret_waits = (struct cw_job_waits){0};
    for (struct cw_client *client = job->clients; client; client = client->next_of_job) {
        struct cw_job_waits waits;
        if (cw_client_waits(client, now, &waits) && now - waits.since_ms >= CW_WAITS_MS &&
            (!found || waits.since_ms < ret_waits->since_ms)) {
            struct cw_job_waits before = *ret_waits;
            *ret_waits = waits;
            waits = before;
            found = true;
        }
        cw_job_waits_fini(&waits);
    }
    return found;
}
