/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of workers: what they report, and how a worker is lost. */
#include "dispatcher/access/access.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "dispatcher/optimize/plan_change.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/forget_turns.h"
#include "dispatcher/session/inbox.h"
#include "dispatcher/session/session.h"

#include <stdio.h>
#include <string.h>
#include "base/limits.h"
#include "base/name.h"
#include "base/version.h"

#define HELLO_LIMIT_MS 10000
#define WORKERS_MAX 20000
#define PAST_EPOCHS 8 /* The number of past epochs whose outputs a worker may still be sending. */

static void mark_leases_due(struct cw_dispatcher *d)
{
    d->due.assignment = d->due.leases = true;
}

/* Of items that are dealt out: those of a consumer that has not joined yet stay. */
static void drop_unjoined(const struct cw_job *job, struct cw_set *items)
{
    uint64_t n = job->layout.consumers;
    struct cw_set joined = {0};
    if (job->layout.mode != CW_MODE_COORDINATED || job->layout.to_all)
        return;
    for (size_t i = 0; i < items->n; i++)
        for (uint64_t item = items->v[i].lo; item < items->v[i].hi; item++)
            if (job->consumers[item % n].client_id != 0)
                cw_set_add(&joined, item, item + 1);
    cw_set_fini(items);
    *items = joined;
}

/* For the guarantee at_most_once: items that a lost worker held are skipped and not computed again.
 * A job that has had no client skips nothing: nobody can have received the items, and nobody would
 * be told. */
static void skip_held(struct cw_share *share)
{
    while (share->leases) {
        struct cw_set items = {0};
        uint64_t epoch = share->leases->epoch;
        cw_set_copy(&items, &share->leases->items);
        cw_lease_free(share, epoch, &items, false);
        drop_unjoined(share->job, &items);
        cw_job_skip(share->job, epoch, &items, "the worker that held them is lost (at_most_once)");
        cw_set_fini(&items);
    }
}

static void fail_unprepared(struct cw_job *job)
{
    cw_autofree char *why = cw_mem_printf(
        "the workers that looked at its sources died, one after the other; it is not tried "
        "again%s%s",
        job->prepare_why ? ": " : "", job->prepare_why ? job->prepare_why : "");
    cw_job_fail(job, CW_E_INTERNAL, why);
}

static void release_prepared(struct cw_worker *worker, bool died)
{
    struct cw_dispatcher *d = worker->d;
    for (struct cw_job *job = d->jobs; job && worker->preparing_n > 0; job = job->next) {
        if (job->preparing != worker)
            continue;
        cw_job_set_preparing(job, NULL);
        if (died && cw_deaths_add(&job->prepare_dead, worker->id) &&
            job->prepare_dead.n >= d->options.deaths_max)
            fail_unprepared(job);
    }
}

/* Frees everything that the worker held. `died`: its stream broke without a goodbye, so the items
 * that it was computing are blamed. Half of a large fleet may be lost in one turn of the loop, so
 * this takes no steps for each other worker or job. */
static void release(struct cw_worker *worker, bool died)
{
    struct cw_dispatcher *d = worker->d;
    cw_accounting_worker(worker, cw_clock_ms());
    release_prepared(worker, died);
    cw_job_index_worker_gone(worker);
    cw_cache_worker_gone(worker);
    while (worker->shares) {
        struct cw_share *share = worker->shares;
        if (died)
            cw_job_blame_items(share);
        if (share->job->options->at_most_once && share->job->status == CW_JOB_RUNNING &&
            cw_job_had_clients(share->job))
            skip_held(share);
        cw_lease_free_all(share, false);
        cw_share_remove(share);
    }
    if (worker->said_hello) {
        /* If the dispatcher stops, the worker's row stays: the next dispatcher waits for it. */
        if (!d->stopping)
            cw_state_remove_worker(d->state, worker->id);
        (void)cw_map_remove(&d->workers_by_id, worker->id);
        d->workers_n--;
        d->counts.workers_lost += died;
        cw_fleet_changed(worker);
    }
    worker->said_hello = false;
    cw_worker_recount(worker);
    cw_autocache_worker_gone(worker);
    mark_leases_due(d);
}

static void worker_free(struct cw_worker *worker)
{
    struct cw_dispatcher *d = worker->d;
    *(worker->prev ? &worker->prev->next : &d->workers) = worker->next;
    *(worker->next ? &worker->next->prev : &d->workers_last) = worker->prev;
    d->common_n -= worker->counted;
    cw_cache_worker_gone(worker);
    cw_inbox_free(worker->inbox);
    cw_stream_free(worker->stream);
    cw_mem_free(worker->address);
    cw_mem_free(worker->host_id);
    cw_mem_free(worker->version);
    cw_mem_free(worker->only_job);
    cw_mem_free(worker->pod_name);
    cw_mem_free(worker->pod_namespace);
    cw_mem_free(worker->pod_uid);
    cw_mem_free(worker->node_name);
    cw_operators_free(&worker->operators);
    cw_worker_clear_source_tiers(worker);
    worker->magic = 0;
    cw_mem_free(worker);
}

static void fail(struct cw_worker *worker, int code, const char *msg, bool died)
{
    if (worker->failed)
        return;
    cw_log_warn(CW_LOG_MOD, "worker=%s is disconnected: %s",
                worker->address[0] ? worker->address : cw_stream_peer(worker->stream), msg);
    release(worker, died);
    worker->failed = true;
    cw_worker_recount(worker);
    cw_stream_finish(worker->stream, code, msg);
}

static bool check_hello(struct cw_worker *worker, const Cachew__V1__WorkerMessage *message)
{
    const Cachew__V1__WorkerHello *hello = message->hello;
    char msg[512];
    if (!cw_protocol_is_served(hello->protocol)) {
        snprintf(msg, sizeof(msg),
                 "the worker (version %s) speaks protocol %u, this dispatcher (version %s) "
                 "protocols %d and %d: upgrade the older one, dispatchers before workers",
                 hello->version, hello->protocol, CW_VERSION, CW_PROTOCOL_OLDEST, CW_PROTOCOL);
        fail(worker, CW_E_UNSUPPORTED, msg, false);
        return false;
    }
    if (message->generation > worker->d->generation) {
        snprintf(msg, sizeof(msg),
                 "this dispatcher is generation %llu, the worker has seen %llu: another dispatcher "
                 "has taken over, or the "
                 "state of this one is an older copy (its log says what to do)",
                 (unsigned long long)worker->d->generation,
                 (unsigned long long)message->generation);
        cw_session_note_generation(worker->d, message->generation, "worker",
                                   cw_stream_peer(worker->stream));
        fail(worker, CW_E_STATE, msg, false);
        return false;
    }
    if (hello->worker_id == 0 || hello->address[0] == '\0' || hello->threads == 0 ||
        hello->threads > 65536) {
        fail(worker, CW_E_INVALID, "the hello lacks an id, an address or threads", false);
        return false;
    }
    if (hello->n_held > CW_HELD_MAX) {
        snprintf(msg, sizeof(msg), "the hello names %zu leases: more than %d", hello->n_held,
                 CW_HELD_MAX);
        fail(worker, CW_E_LIMIT, msg, false);
        return false;
    }
    const char *job = cw_access_job_of(worker->caller);
    if (job && strcmp(job, hello->only_job) != 0) {
        fail(worker, CW_E_DENIED, "its token is that of a worker of another job alone", false);
        return false;
    }
    return true;
}

static void set_text(char **text, const char *s)
{
    cw_mem_free(*text);
    *text = cw_mem_strdup(s);
}

/* Takes over what may be a name, and nothing else: tools print it, and it may be long. */
static void set_pod(struct cw_worker *worker, const Cachew__V1__WorkerHello *hello)
{
    set_text(&worker->pod_name, cw_name_is_pod(hello->pod_name) ? hello->pod_name : "");
    set_text(&worker->pod_namespace,
             cw_name_is_pod(hello->pod_namespace) ? hello->pod_namespace : "");
    set_text(&worker->pod_uid, cw_name_is_pod(hello->pod_uid) ? hello->pod_uid : "");
    set_text(&worker->node_name, cw_name_is_pod(hello->node_name) ? hello->node_name : "");
}

/* The worker has a job, of which it may hold items. It may have been removed, or be over, since the
 * worker was here last. */
static void take_held(struct cw_worker *worker, const Cachew__V1__HeldLease *held)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, held->job_id);
    if (!job)
        cw_forget_turns_add(worker, held->job_id);
    else if (job->forgotten || job->status == CW_JOB_FAILED)
        cw_worker_forget_job(worker, held->job_id, "it is over");
    else
        cw_lease_adopt(worker, held);
}

/* Whether a worker may say what has become of `other`, and end its stream. One of a single job, which may
 * be a tenant's, may do so with those of that job alone. */
static bool may_replace(const Cachew__V1__WorkerHello *hello, const struct cw_worker *other)
{
    return hello->only_job[0] == '\0' || strcmp(hello->only_job, other->only_job) == 0;
}

/* The worker takes the place of one that died in an operator. */
static void take_death(struct cw_worker *worker, const Cachew__V1__WorkerHello *hello)
{
    struct cw_dispatcher *d = worker->d;
    const Cachew__V1__Died *died = hello->died;
    struct cw_worker *dead = cw_map_get(&d->workers_by_id, died->worker_id);
    struct cw_job *job = cw_strmap_get(&d->jobs_by_id, died->job_id);
    if ((dead && !may_replace(hello, dead)) ||
        (job && hello->only_job[0] != '\0' && strcmp(hello->only_job, job->id) != 0)) {
        cw_log_warn(CW_LOG_MOD, "worker=%s tells of a death that is not of its job",
                    hello->address);
        return;
    }
    if (dead)
        fail(dead, CW_E_UNAVAILABLE, died->text, true);
    if (job) {
        cw_item_faults_forgive(d, died->worker_id, hello->only_job);
        cw_job_operator_died(job, died);
    }
}

static void handle_hello(struct cw_worker *worker, const Cachew__V1__WorkerMessage *message)
{
    struct cw_dispatcher *d = worker->d;
    const Cachew__V1__WorkerHello *hello = message->hello;
    if (!check_hello(worker, message))
        return;
    struct cw_worker *old = cw_map_get(&d->workers_by_id, hello->worker_id);
    if (old && !may_replace(hello, old)) {
        fail(worker, CW_E_DENIED, "its id is that of a worker that serves other jobs", false);
        return;
    }
    /* The same process has connected again before its old stream was found to be broken. */
    if (old)
        fail(old, CW_E_STATE, "the same worker has connected again", false);
    if (hello->died)
        take_death(worker, hello);
    worker->id = hello->worker_id;
    set_text(&worker->address, hello->address);
    set_text(&worker->host_id, hello->host_id);
    set_text(&worker->version, hello->version);
    set_text(&worker->only_job, hello->only_job);
    set_pod(worker, hello);
    worker->threads = hello->threads;
    worker->pid = hello->pid;
    worker->budget_bytes = hello->budget_bytes;
    worker->named_caches = hello->named_caches;
    worker->job_plans = hello->job_plans;
    worker->index_parts = hello->index_parts;
    cw_worker_set_operators(worker, hello);
    cw_accounting_worker(worker, cw_clock_ms());
    worker->said_hello = true;
    (void)cw_map_set(&d->workers_by_id, worker->id, worker);
    cw_worker_recount(worker);
    d->workers_n++;
    cw_fleet_changed(worker);
    cw_item_faults_forgive(d, worker->id, worker->only_job);
    worker->counted_before = cw_map_remove(&d->expected_workers, worker->id) != NULL;
    cw_state_put_worker(d->state, worker->id, worker->address);
    cw_provision_attached(d, worker);
    d->counts.workers_joined++;
    cw_log_info(CW_LOG_MOD, "worker=%s pid=%u threads=%u joins", worker->address, worker->pid,
                worker->threads);
    Cachew__V1__WorkerWelcome welcome = CACHEW__V1__WORKER_WELCOME__INIT;
    welcome.silence_ms = (uint32_t)d->options.silence_ms;
    welcome.heartbeat_ms = worker->heartbeat_ms = cw_heartbeat_ms(d, 0);
    Cachew__V1__CacheStore store = CACHEW__V1__CACHE_STORE__INIT;
    if (d->cache) {
        store.url = d->cache->url;
        store.chunk_bytes = d->options.cache_chunk_bytes;
        store.level = d->options.cache_level;
        store.source_bytes = d->cache->source_quota;
        welcome.store = &store;
    }
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_WELCOME;
    command.welcome = &welcome;
    cw_worker_send(worker, &command);
    cw_leaving_hello(worker, hello->caches, hello->n_caches);
    const char *only_job = cw_access_job_of(worker->caller);
    for (size_t i = 0; i < hello->n_held; i++)
        if (!only_job || strcmp(only_job, hello->held[i]->job_id) == 0)
            take_held(worker, hello->held[i]);
    struct cw_job *only = cw_strmap_get(&d->jobs_by_id, worker->only_job);
    if (only) /* A scaled job is filled by its shares, so the worker needs a share. */
        (void)cw_share_get(only, worker);
    for (struct cw_job *job = d->jobs; job; job = job->next)
        cw_job_prepare(job);
    mark_leases_due(d);
    cw_fault_point("dispatcher.worker_hello");
}

static struct cw_share *share_of(struct cw_worker *worker, const char *job_id)
{
    struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, job_id);
    return job && job->status == CW_JOB_RUNNING ? cw_share_find(job, worker) : NULL;
}

static void handle_progress(struct cw_worker *worker, const Cachew__V1__Progress *progress)
{
    worker->budget_used = progress->budget_used;
    worker->cpu_share = progress->cpu_share;
    worker->cpu_cores = progress->cpu_cores;
    worker->host_cpus = progress->host_cpus;
    worker->host_cpu_share = progress->host_cpu_share;
    worker->host_load = progress->host_load;
    if (progress->n_source > 0 || progress->n_named_source > 0)
        cw_worker_set_source_tiers(worker, progress);
    for (size_t i = 0; i < progress->n_done; i++) {
        /* The job may be over: a trainer may consume the last items before their worker reports
         * them. */
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, progress->done[i]->job_id);
        struct cw_share *share = job ? cw_share_find(job, worker) : NULL;
        if (share)
            cw_lease_done(share, progress->done[i]);
    }
    cw_cache_take_report(worker, progress);
    cw_autocache_take_counts(worker, progress);
    cw_telemetry_take_counts(worker, progress);
    cw_thread_use_take(worker, progress);
    cw_job_note_preparing(worker, progress, cw_clock_ms());
    cw_job_note_slow(worker, progress, cw_clock_ms());
    cw_fault_point("dispatcher.progress");
}

static void handle_failed(struct cw_worker *worker, const Cachew__V1__ItemFailed *failed)
{
    struct cw_share *share = share_of(worker, failed->job_id);
    if (!share)
        return;
    struct cw_set item = {0};
    cw_set_add(&item, failed->item, failed->item + 1);
    cw_lease_free(share, failed->epoch, &item, false);
    cw_set_fini(&item);
    if (failed->code == CW_E_OTHER_FILE)
        cw_job_other_files_seen(share, failed->error, cw_clock_ms());
    else
        cw_job_item_failed(share->job, worker, failed);
    cw_fault_point("dispatcher.failed");
}

/* The items may be leased to the worker again, by a message that it had not read when it handed them
 * back. It is told to drop that lease: what it holds unknown to the dispatcher would never be
 * revoked, and keep it from obeying any further lease of these items. */
static void handle_hand_back(struct cw_worker *worker, const Cachew__V1__HandBack *back)
{
    struct cw_share *share = share_of(worker, back->job_id);
    struct cw_set items = {0};
    if (share && cw_wire_set_from(back->items, back->n_items, &items, NULL) == 0)
        cw_lease_free(share, back->epoch, &items, true);
    cw_set_fini(&items);
    cw_fault_point("dispatcher.hand_back");
}

/* A draining worker waits until its outputs are received. It need not wait for items that are not
 * leased to it any more, so these are revoked. */
static void revoke_unleased(struct cw_share *share)
{
    struct cw_job *job = share->job;
    uint64_t first = job->first_epoch > PAST_EPOCHS ? job->first_epoch - PAST_EPOCHS : 0;
    for (uint64_t n = first; job->items > 0 && n < job->first_epoch + job->epochs_open; n++) {
        struct cw_set unleased = {0};
        cw_set_add(&unleased, 0, job->items);
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next) {
            if (lease->epoch == n)
                cw_set_remove_all(&unleased, &lease->items);
        }
        cw_lease_revoke(share->worker, job, n, &unleased);
        cw_set_fini(&unleased);
    }
}

static void handle_draining(struct cw_worker *worker)
{
    worker->draining = true;
    cw_worker_recount(worker);
    cw_job_index_worker_gone(worker);
    for (struct cw_share *share = worker->shares; share; share = share->next_of_worker)
        revoke_unleased(share);
    cw_log_info(CW_LOG_MOD, "worker=%s is draining", worker->address);
    for (struct cw_job *job = worker->d->jobs; job; job = job->next) {
        if (job->preparing == worker) {
            cw_job_set_preparing(job, NULL);
            cw_job_prepare(job);
        }
    }
    mark_leases_due(worker->d);
    cw_fault_point("dispatcher.draining");
}

static void prepared(struct cw_job *job, Cachew__V1__Prepared *message)
{
    cw_job_prepared(job, message);
    cw_clients_job_changed(job);
    /* If another job has cached a node, this job reads it from the first element on. */
    if (job->status != CW_JOB_FAILED)
        cw_job_decide_cache(job, cw_clock_ms());
    cw_fault_point("dispatcher.prepared");
}

static void handle(struct cw_worker *worker, Cachew__V1__WorkerMessage *message)
{
    bool is_hello = message->kind_case == CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    if (is_hello == worker->said_hello) {
        fail(worker, CW_E_INVALID,
             is_hello ? "a second hello" : "the first message must be a hello", false);
        return;
    }
    switch (message->kind_case) {
    case CACHEW__V1__WORKER_MESSAGE__KIND_HELLO:
        handle_hello(worker, message);
        if (cw_fault_rare("session.worker_hello"))
            fail(worker, CW_E_UNAVAILABLE, "sent away after its hello, in a test", false);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_PLAN_OPENED:
        cw_job_plan_opened(worker, message->plan_opened);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_LEASE:
        cw_job_index_lease(worker, message->index_lease);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_MADE:
        cw_job_index_made(worker, message->index_made);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_ELEMENTS_SHOWN:
        cw_job_elements_take(worker, message);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS:
        handle_progress(worker, message->progress);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED: {
        struct cw_job *job = cw_strmap_get(&worker->d->jobs_by_id, message->prepared->job_id);
        if (job && job->preparing == worker)
            prepared(job, message->prepared);
        break;
    }
    case CACHEW__V1__WORKER_MESSAGE__KIND_FAILED:
        handle_failed(worker, message->failed);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_HAND_BACK:
        handle_hand_back(worker, message->hand_back);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_DRAINING:
        handle_draining(worker);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND__NOT_SET:
    default:
        break; /* A newer worker may send messages that an older dispatcher need not know. */
    }
}

static void on_unpacked(void *arg, ProtobufCMessage *message, void *read, const struct cw_err *err)
{
    struct cw_worker *worker = arg;
    (void)read;
    if (!message && !worker->failed)
        fail(worker, CW_E_INVALID, err->msg, false);
    if (!message)
        return;
    if (!worker->failed)
        handle(worker, (Cachew__V1__WorkerMessage *)message);
    cw_inbox_drop(worker->inbox, message);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_worker *worker = arg;
    CW_ASSERT(worker->magic == CW_WORKER_TAG);
    if (worker->failed)
        return;
    worker->last_heard_ms = cw_clock_ms();
    cw_inbox_put(worker->inbox, msg);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_worker *worker = arg;
    CW_ASSERT(worker->magic == CW_WORKER_TAG);
    if (worker->said_hello) {
        cw_log_info(CW_LOG_MOD, "worker=%s is gone: %s", worker->address,
                    code != 0 && msg ? msg : "closed");
        release(worker, code != 0 && !worker->draining);
    }
    worker_free(worker);
}

void cw_worker_session_open(void *dispatcher, struct cw_stream *stream)
{
    static const struct cw_stream_cb callbacks = {.on_message = on_message, .on_close = on_close};
    static const struct cw_inbox_kind messages = {.type = &cachew__v1__worker_message__descriptor,
                                                  .on_message = on_unpacked};
    struct cw_dispatcher *d = dispatcher;
    struct cw_worker *worker = CW_NEW(struct cw_worker);
    worker->inbox = cw_inbox_new(d, stream, &messages, worker);
    worker->magic = CW_WORKER_TAG;
    worker->d = d;
    worker->stream = stream;
    worker->caller = cw_stream_caller(stream);
    worker->address = cw_mem_strdup("");
    worker->host_id = cw_mem_strdup("");
    worker->version = cw_mem_strdup("");
    worker->only_job = cw_mem_strdup("");
    worker->last_heard_ms = worker->since_ms = cw_clock_ms();
    worker->prev = d->workers_last;
    *(worker->prev ? &worker->prev->next : &d->workers) = worker;
    d->workers_last = worker;
    cw_stream_accept(stream, &callbacks, worker);
    if (d->stopping)
        fail(worker, CW_E_UNAVAILABLE, "the dispatcher is stopping", false);
    else if (d->workers_n > WORKERS_MAX)
        fail(worker, CW_E_LIMIT, "the dispatcher has as many workers as it takes", false);
}

void cw_worker_sessions_tick(struct cw_dispatcher *d, int64_t now)
{
    for (struct cw_worker *worker = d->workers, *next; worker; worker = next) {
        next = worker->next;
        int64_t silent = now - worker->last_heard_ms;
        int64_t limit = worker->said_hello ? cw_silence_ms(worker) : HELLO_LIMIT_MS;
        if (!worker->failed && !cw_inbox_is_reading(worker->inbox) &&
            (silent > limit || cw_fault_rare("session.worker_silent")))
            fail(worker, CW_E_TIMEOUT,
                 worker->said_hello ? "nothing was heard of it for too long" : "no hello came",
                 false);
    }
}

void cw_worker_sessions_check_tokens(struct cw_dispatcher *d)
{
    for (struct cw_worker *worker = d->workers, *next; worker; worker = next) {
        next = worker->next;
        if (!worker->failed && !cw_access_is_valid(d, worker->caller))
            fail(worker, CW_E_DENIED, "its token does not count any more", false);
    }
}

void cw_worker_sessions_close(struct cw_dispatcher *d)
{
    for (struct cw_job *job = d->jobs; job; job = job->next)
        while (job->index_helps)
            cw_job_drop_index_help(job, &job->index_helps);
    while (d->workers) {
        while (d->workers->shares)
            cw_share_remove(d->workers->shares);
        worker_free(d->workers);
    }
    cw_map_fini(&d->workers_by_id);
    cw_fleet_list_drop(d);
}
