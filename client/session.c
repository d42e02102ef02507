/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/version.h"
#include "cachew/v1/job.pb-c.h"
#include "client/report.h"
#include "client/session.h"
#include "wire/wire.h"

#define TICK_MS 50
#define STARVED_TICKS 40
#define ACK_MS 200
#define ACK_GAP_NS 5000000 /* at most 200 acknowledgements a second, unless the window is tiny */
#define TINY_WINDOW 64
#define BACKOFF_MIN_MS 50
#define BACKOFF_MAX_MS 1000
#define BYE_MS 1000
#define BUFFER_BYTES (256ull << 20)
#define LINK_BYTES_MIN (64ull << 10)

struct cw_session {
    struct cachew_job *job;
    struct cw_session_conf conf;
    uint64_t client_id, generation;
    struct cw_stream *stream;
    bool welcome;  /* on this stream */
    bool begun;    /* there was a welcome, ever */
    struct cw_timer *retry, *tick, *bye;
    int64_t backoff_ms;
    struct cw_deliver deliver;
    struct cw_link **links;
    size_t links_n, links_cap;
    uint64_t window;
    int64_t acked_ns;
    uint64_t acked_wait_ns;
    uint64_t came, starved_came; /* messages with outputs: now, and when the trainer began to starve */
    int starved_ticks;
    cw_loop_fn *closed;
    void *closed_arg;
};

static void session_open(void *arg);
static void session_tick(void *arg);
static void drop_links_over(struct cw_session *session);

struct cachew_job *cw_session_job(const struct cw_session *session)
{
    return session->job;
}

uint64_t cw_session_client_id(const struct cw_session *session)
{
    return session->client_id;
}

struct cw_deliver *cw_session_deliver(struct cw_session *session)
{
    return &session->deliver;
}

/* ---- messages to the dispatcher ---- */

static void send(struct cw_session *session, Cachew__V1__ClientMessage *message)
{
    message->generation = session->generation;
    cw_wire_send(session->stream, &message->base);
}

static void send_hello(struct cw_session *session)
{
    struct cw_session_conf *conf = &session->conf;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    Cachew__V1__JobOptions job = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Position position;
    struct cw_report report = {0};
    hello.protocol = CW_PROTOCOL;
    hello.version = (char *)(uintptr_t)CW_VERSION;
    hello.client_id = session->client_id;
    hello.consumer = conf->consumer;
    hello.host_id = session->job->client->host_id;
    if (session->begun) {
        hello.job_id = session->job->id;
        cw_report_all(&report, &session->deliver);
        cw_report_position(&session->deliver, &position);
        hello.received = report.received;
        hello.n_received = report.received_n;
        hello.consumed = report.consumed;
        hello.n_consumed = report.consumed_n;
        hello.position = &position;
    } else {
        hello.job = &job;
        job.name = conf->name ? conf->name : job.name;
        job.graph = cw_wire_graph_to(conf->graph);
        job.seed = conf->seed;
        job.epochs = conf->epochs;
        job.unordered = conf->unordered;
        job.skip_bad = conf->skip_bad;
        job.window = conf->window;
        job.buffer_bytes = conf->buffer_bytes;
        job.mode = (Cachew__V1__ConsumerMode)conf->mode;
        job.consumers = conf->consumers;
        job.at_most_once = conf->at_most_once;
        job.lease_items = conf->lease_items;
        hello.token.data = conf->token_bytes;
        hello.token.len = conf->token_n;
    }
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    send(session, &message);
    if (job.graph)
        cw_wire_graph_free(job.graph);
    cw_report_fini(&report);
}

static double wait_share(struct cw_session *session, int64_t now)
{
    uint64_t waited = atomic_load_explicit(&session->job->counts.wait_ns, memory_order_relaxed);
    double share = session->acked_ns ? (double)(waited - session->acked_wait_ns) / (double)CW_MAX(now - session->acked_ns, 1) : 0;
    session->acked_wait_ns = waited;
    return CW_MIN(share, 1.0);
}

static bool has_news(const struct cw_session *session)
{
    return session->deliver.received.n > 0 || session->deliver.consumed.n > 0 || session->deliver.consumed_n > 0;
}

static void send_ack(struct cw_session *session)
{
    if (!session->welcome || !has_news(session))
        return;
    int64_t now = cw_clock_ns();
    struct cw_deliver *deliver = &session->deliver;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__Position position;
    struct cw_report report = {0};
    cw_report_news(&report, deliver); /* clears them: should the stream break now, the next hello tells all */
    cw_report_position(deliver, &position);
    ack.received = report.received;
    ack.n_received = report.received_n;
    ack.consumed = report.consumed;
    ack.n_consumed = report.consumed_n;
    ack.wait_share = wait_share(session, now);
    ack.buffered_bytes = deliver->buffered;
    ack.ready = deliver->serial - atomic_load_explicit(&session->job->given, memory_order_relaxed);
    ack.position = &position;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    message.ack = &ack;
    send(session, &message);
    cw_report_fini(&report);
    deliver->consumed_n = 0;
    session->acked_ns = now;
}

static bool ack_is_due(const struct cw_session *session)
{
    int64_t age = cw_clock_ns() - session->acked_ns;
    if (age >= ACK_MS * 1000000ll)
        return true;
    bool quarter = session->deliver.consumed_n >= CW_MAX(session->window / 4, 1);
    return quarter && (session->window < TINY_WINDOW || age >= ACK_GAP_NS);
}

/* ---- flow ---- */

static void fail(struct cw_session *session, const struct cw_err *err)
{
    cw_job_fail(session->job, err);
}

/* Settles the book, hands on what is next, returns credit, acknowledges. */
static void move(struct cw_session *session, bool all)
{
    struct cw_err err = {0};
    if (!session->begun)
        return;
    cw_deliver_settle(&session->deliver);
    if (cw_deliver_drain(&session->deliver, &err) != 0)
        fail(session, &err);
    for (size_t i = 0; i < session->links_n; i++)
        cw_link_flush(session->links[i], all);
    if (ack_is_due(session))
        send_ack(session);
}

void cw_session_kicked(struct cw_session *session)
{
    move(session, false);
}

void cw_session_came(struct cw_session *session)
{
    session->came++;
    move(session, false);
}

/* The trainer has nothing, nothing has come for a while, and there is something beyond the gap: should all credit be out for that,
 * what fills the gap could never come. Workers send what comes before the last that they sent without credit, so this is for the
 * worst only; slow, so that a long computation does not fill the memory. */
static void help_starving(struct cw_session *session)
{
    struct cachew_job *job = session->job;
    bool empty = session->deliver.serial == atomic_load_explicit(&job->given, memory_order_relaxed);
    if (!empty || session->deliver.order.held == 0 || session->came != session->starved_came) {
        session->starved_ticks = 0;
        session->starved_came = session->came;
        return;
    }
    if (++session->starved_ticks % STARVED_TICKS == 0)
        for (size_t i = 0; i < session->links_n; i++)
            cw_link_overdraw(session->links[i]);
}

static void session_tick(void *arg)
{
    struct cw_session *session = arg;
    drop_links_over(session);
    move(session, true);
    if (session->begun)
        help_starving(session);
}

/* The trainer wakes the loop when a quarter of the window, or an eighth of the buffer, was consumed. */
static void set_kicks(struct cw_session *session)
{
    uint64_t n = session->window / 4;
    n = n < 1 ? 1 : n > 256 ? 256 : n;
    atomic_store_explicit(&session->job->kick_n, n, memory_order_relaxed);
    atomic_store_explicit(&session->job->kick_bytes, session->conf.buffer_bytes / 8, memory_order_relaxed);
}

static void set_window(struct cw_session *session, uint64_t items)
{
    session->window = items ? items : session->window;
    set_kicks(session);
}

/* ---- workers ---- */

static uint64_t link_share(const struct cw_session *session)
{
    uint64_t share = session->conf.buffer_bytes / CW_MAX(session->links_n, 1);
    return CW_MAX(share, LINK_BYTES_MIN);
}

static struct cw_link *link_find(const struct cw_session *session, uint64_t worker_id)
{
    for (size_t i = 0; i < session->links_n; i++)
        if (cw_link_worker(session->links[i]) == worker_id)
            return session->links[i];
    return NULL;
}

static bool list_has(const Cachew__V1__Workers *list, const struct cw_link *link)
{
    for (size_t i = 0; i < list->n_workers; i++)
        if (list->workers[i]->worker_id == cw_link_worker(link) && strcmp(list->workers[i]->address, cw_link_address(link)) == 0)
            return true;
    return false;
}

static void drop_links_over(struct cw_session *session)
{
    size_t kept = 0, n = session->links_n;
    session->links_n = 0; /* so that nothing walks a list half changed */
    for (size_t i = 0; i < n; i++)
        if (cw_link_is_over(session->links[i]))
            cw_link_close(session->links[i]);
        else
            session->links[kept++] = session->links[i];
    session->links_n = kept;
}

static void on_workers(struct cw_session *session, const Cachew__V1__Workers *list)
{
    for (size_t i = 0; i < session->links_n; i++)
        cw_link_set_listed(session->links[i], list_has(list, session->links[i]));
    drop_links_over(session);
    uint64_t share = CW_MAX(session->conf.buffer_bytes / CW_MAX(list->n_workers, 1), LINK_BYTES_MIN);
    for (size_t i = 0; i < list->n_workers; i++) {
        const Cachew__V1__WorkerInfo *worker = list->workers[i];
        if (link_find(session, worker->worker_id))
            continue;
        CW_GROW(session->links, session->links_n, session->links_cap);
        struct cw_link *link = cw_link_new(session, worker->worker_id, worker->address, worker->host_id, share);
        session->links[session->links_n++] = link;
    }
    for (size_t i = 0; i < session->links_n; i++)
        cw_link_set_limit(session->links[i], link_share(session));
    cw_session_count_workers(session);
}

void cw_session_count_workers(struct cw_session *session)
{
    uint32_t up = 0;
    for (size_t i = 0; i < session->links_n; i++)
        up += cw_link_is_up(session->links[i]);
    atomic_store_explicit(&session->job->counts.workers, up, memory_order_relaxed);
}

bool cw_session_worker_lost(struct cw_session *session, uint64_t worker_id, const char *why)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__WorkerLost lost = CACHEW__V1__WORKER_LOST__INIT;
    if (!session->welcome)
        return false;
    cw_deliver_settle(&session->deliver);
    send_ack(session); /* first what did come from it */
    lost.worker_id = worker_id;
    lost.error = (char *)(uintptr_t)why;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_LOST;
    message.worker_lost = &lost;
    send(session, &message);
    return true;
}

void cw_session_worker_found(struct cw_session *session, uint64_t worker_id)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__WorkerFound found = CACHEW__V1__WORKER_FOUND__INIT;
    if (!session->welcome)
        return;
    found.worker_id = worker_id;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_FOUND;
    message.worker_found = &found;
    send(session, &message);
}

/* ---- messages from the dispatcher ---- */

/* A token is exact. What the dispatcher kept is so too unless items were left out by hand since; then the step is taken to begin at a
 * multiple of the number of consumers. */
static void kept_position(const struct cachew_job *job, const Cachew__V1__ClientWelcome *welcome, struct cw_pos *ret_pos)
{
    struct cw_pos pos = {welcome->first_epoch, welcome->first_item, welcome->first_row, 0, 0, 0};
    const Cachew__V1__Position *at = welcome->position;
    uint64_t n = job->mode == CW_MODE_COORDINATED ? CW_MAX(job->consumers, 1u) : 1;
    if (at)
        pos = (struct cw_pos){at->epoch, at->item, at->row, at->rows, at->batches, 0};
    if (job->sparse)
        pos.floor = (pos.batches + n - 1) / n * n;
    else
        pos.floor = pos.batches == pos.item ? pos.item : pos.item - pos.item % n;
    *ret_pos = pos;
}

static int start_position(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome, struct cw_pos *ret_pos,
                          struct cw_set *ret_consumed, struct cw_err *err)
{
    const struct cw_token *token = &session->conf.token;
    const struct cachew_job *job = session->job;
    if (session->conf.token_bytes) {
        if (!cw_hash_eq(token->fingerprint, job->fingerprint) || token->seed != job->seed)
            return cw_err_set(err, CW_E_STATE, "the token belongs to another pipeline, other source files or another seed: resume with what the "
                              "job was started with, or start without a token");
        *ret_pos = (struct cw_pos){token->epoch, token->item, token->row, token->rows, token->batches, token->batches + token->to_come};
        cw_set_copy(ret_consumed, &token->beyond);
        return 0;
    }
    *ret_pos = (struct cw_pos){0};
    if (job->items > 0) /* else each empty epoch is told all the same */
        kept_position(job, welcome, ret_pos);
    for (size_t i = 0; i < welcome->n_consumed; i++)
        if (welcome->consumed[i]->epoch == ret_pos->epoch &&
            cw_wire_set_from(welcome->consumed[i]->items, welcome->consumed[i]->n_items, ret_consumed, err) != 0)
            return err->code;
    return 0;
}

/* The first welcome: what the job is, and where it begins. */
static int begin(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome, struct cw_err *err)
{
    struct cachew_job *job = session->job;
    struct cw_plan_info info;
    struct cw_pos from = {0};
    struct cw_set consumed = {0};
    if (!welcome->info)
        return cw_err_set(err, CW_E_CORRUPT, "the dispatcher's welcome does not say what the job is");
    int rc = cw_wire_info_from(welcome->info, &info, err);
    if (rc != 0)
        return rc;
    if (info.join.skip < 0 || info.join.batch < 0 || (info.join.take > 0 && info.join.skip > INT64_MAX - info.join.take))
        return cw_err_set(err, CW_E_CORRUPT, "the dispatcher's welcome has a row count that cannot be");
    job->id = cw_mem_strdup(welcome->job_id);
    job->seed = welcome->seed;
    job->epochs = welcome->epochs;
    job->fingerprint = info.fingerprint;
    job->items = info.items;
    job->elements = info.elements;
    job->sparse = info.sparse;
    rc = start_position(session, welcome, &from, &consumed, err);
    if (rc == 0) {
        cw_deliver_init(&session->deliver, job, &info.join, &from, &consumed);
        session->begun = true;
        job->pos = job->last_pos = from;
        cw_set_copy(&job->used, &consumed);
        atomic_store(&job->counts.epoch, from.epoch);
        const struct cw_set *had = cw_order_received(&session->deliver.order, from.epoch);
        atomic_store(&job->counts.done_items, had ? cw_set_count(had) : 0);
        job->over = cw_order_is_over(&session->deliver.order);
    }
    cw_set_fini(&consumed);
    return rc;
}

static void on_welcome(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome)
{
    struct cw_err err = {0};
    bool first = !session->begun;
    session->backoff_ms = BACKOFF_MIN_MS;
    if (first && begin(session, welcome, &err) != 0) {
        fail(session, &err);
        return;
    }
    session->welcome = true;
    set_window(session, welcome->window);
    if (!first)
        atomic_fetch_add_explicit(&session->job->counts.reconnects, 1, memory_order_relaxed);
    for (size_t i = 0; i < session->links_n; i++)
        cw_link_retell(session->links[i]);
    move(session, true);
    cw_mutex_lock(&session->job->mutex);
    session->job->started = true;
    session->job->reason[0] = 0;
    cw_mutex_unlock(&session->job->mutex);
    cw_cond_broadcast(&session->job->cond);
}

static void set_reason(struct cw_session *session, const char *reason, bool progress)
{
    struct cachew_job *job = session->job;
    cw_mutex_lock(&job->mutex);
    snprintf(job->reason, sizeof(job->reason), "%s", reason);
    if (progress)
        job->start_by_ns = cw_clock_ns() + job->client->timeout_ms * 1000000;
    cw_mutex_unlock(&job->mutex);
    cw_cond_broadcast(&job->cond);
}

static void on_skipped(struct cw_session *session, const Cachew__V1__Skipped *skipped)
{
    bool lost = strcmp(skipped->reason, "shared") != 0;
    if (!session->begun)
        return;
    for (size_t i = 0; i < skipped->n_items; i++) {
        const Cachew__V1__EpochSet *set = skipped->items[i];
        for (size_t k = 0; k < set->n_items; k++)
            cw_deliver_skip(&session->deliver, set->epoch, set->items[k]->lo, set->items[k]->hi, lost);
    }
    move(session, false);
}

static void on_error(struct cw_session *session, const Cachew__V1__JobError *error)
{
    struct cw_err err = {0};
    int code = error->code < 0 && error->code > -(int)CW_ORD_N ? error->code : CW_E_INTERNAL;
    if (cw_err_is_retryable(code)) { /* the dispatcher stops, or cannot now: the stream ends, and we come again */
        set_reason(session, error->error, false);
        return;
    }
    cw_err_set(&err, code, "%s", *error->error ? error->error : cw_err_text(code));
    fail(session, &err);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_session *session = arg;
    struct cw_err err = {0};
    ProtobufCMessage *base = cw_wire_unpack(&cachew__v1__client_command__descriptor, msg, &err);
    if (!base) {
        cw_log_warn("client", "message from dispatcher %s: %s", session->job->client->address, err.msg);
        return;
    }
    const Cachew__V1__ClientCommand *command = (const Cachew__V1__ClientCommand *)(void *)base;
    if (command->generation >= session->generation) { /* else: a dispatcher that was replaced */
        session->generation = command->generation;
        switch (command->kind_case) {
        case CACHEW__V1__CLIENT_COMMAND__KIND_WELCOME:
            on_welcome(session, command->welcome);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_WORKERS:
            if (session->begun)
                on_workers(session, command->workers);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_ERROR:
            on_error(session, command->error);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_WAITING:
            set_reason(session, command->waiting->reason, strncmp(command->waiting->reason, "no worker", 9) != 0);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED:
            on_skipped(session, command->skipped);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND_WINDOW:
            set_window(session, command->window->items);
            break;
        case CACHEW__V1__CLIENT_COMMAND__KIND__NOT_SET:
        default:
            break; /* of a later version */
        }
    }
    protobuf_c_message_free_unpacked(base, NULL);
}

/* ---- life ---- */

static void session_free(struct cw_session *session)
{
    cw_loop_fn *closed = session->closed;
    void *arg = session->closed_arg;
    cw_stream_free(session->stream);
    cw_timer_free(session->retry);
    cw_timer_free(session->tick);
    cw_timer_free(session->bye);
    size_t n = session->links_n;
    session->links_n = 0;
    for (size_t i = 0; i < n; i++)
        cw_link_close(session->links[i]);
    cw_mem_free(session->links);
    cw_deliver_fini(&session->deliver);
    cw_graph_unref(session->conf.graph);
    cw_mem_free(session->conf.name);
    cw_mem_free(session->conf.token_bytes);
    cw_token_fini(&session->conf.token);
    cw_mem_free(session);
    closed(arg);
}

static bool is_final(int code)
{
    return code == CW_E_INVALID || code == CW_E_DENIED || code == CW_E_UNSUPPORTED || code == CW_E_LIMIT || code == CW_E_STATE ||
           code == CW_E_EXISTS || code == CW_E_NOT_FOUND;
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_session *session = arg;
    const char *address = session->job->client->address;
    cw_stream_free(session->stream);
    session->stream = NULL;
    session->welcome = false;
    if (session->closed) {
        session_free(session);
        return;
    }
    /* Once begun only a JobError ends a job: the other end may have been a dispatcher on its way out, or something between. */
    if (!session->begun && is_final(code)) {
        struct cw_err err = {0};
        cw_err_set(&err, code, "dispatcher %s: %s", address, msg && *msg ? msg : cw_err_text(code));
        fail(session, &err);
        return;
    }
    char reason[256];
    snprintf(reason, sizeof(reason), "no connection to the dispatcher at %s (%s)", address, msg && *msg ? msg : "it ended the stream");
    set_reason(session, reason, false);
    cw_timer_start(session->retry, session->backoff_ms, 0);
    session->backoff_ms = CW_MIN(2 * session->backoff_ms, BACKOFF_MAX_MS);
}

static void session_open(void *arg)
{
    static const struct cw_stream_cb callbacks = {on_message, NULL, on_close};
    struct cw_session *session = arg;
    session->stream = cw_channel_stream(session->job->client->channel, "/cachew.v1.Jobs/Attach", &callbacks, session);
    send_hello(session);
}

struct cw_session *cw_session_new(struct cachew_job *job, struct cw_session_conf *conf)
{
    struct cw_session *session = CW_NEW(struct cw_session);
    session->job = job;
    session->conf = *conf;
    *conf = (struct cw_session_conf){0};
    if (session->conf.buffer_bytes == 0)
        session->conf.buffer_bytes = BUFFER_BYTES;
    session->client_id = cw_rng_process_id();
    session->window = session->conf.window;
    session->backoff_ms = BACKOFF_MIN_MS;
    session->retry = cw_timer_new(job->client->loop, session_open, session);
    session->tick = cw_timer_new(job->client->loop, session_tick, session);
    cw_timer_start(session->tick, TICK_MS, TICK_MS);
    set_kicks(session);
    session_open(session);
    return session;
}

static void on_bye_timeout(void *arg)
{
    session_free(arg);
}

void cw_session_close(struct cw_session *session, cw_loop_fn *done, void *arg)
{
    session->closed = done;
    session->closed_arg = arg;
    cw_timer_stop(session->tick);
    cw_timer_stop(session->retry);
    if (!session->stream) {
        session_free(session);
        return;
    }
    if (session->begun)
        cw_deliver_settle(&session->deliver);
    send_ack(session);
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__Bye bye = CACHEW__V1__BYE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_BYE;
    message.bye = &bye;
    send(session, &message);
    cw_stream_finish(session->stream, 0, NULL);
    session->bye = cw_timer_new(session->job->client->loop, on_bye_timeout, session);
    cw_timer_start(session->bye, BYE_MS, 0);
}
