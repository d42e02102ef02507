/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/version.h"
#include "client/delivery/ack_sets.h"
#include "client/session/session_int.h"
#include "wire/wire.h"

static void send(struct cw_session *session, Cachew__V1__ClientMessage *message)
{
    message->generation = session->generation;
    session->said_ns = cw_clock_ns();
    cw_wire_send(session->stream, &message->base);
}

static void fill_job(const struct cw_session_conf *conf, Cachew__V1__JobOptions *job)
{
    job->name = conf->name ? conf->name : job->name;
    job->autocache = conf->autocache ? conf->autocache : job->autocache;
    job->tenant = conf->tenant ? conf->tenant : job->tenant;
    job->cache = conf->cache ? conf->cache : job->cache;
    job->graph = cw_wire_graph_to(conf->graph);
    job->graph->identity = (uint32_t)conf->identity;
    job->seed = conf->seed;
    job->epochs = conf->epochs;
    job->unordered = conf->unordered;
    job->skip_bad = conf->skip_bad;
    job->window = conf->window;
    job->buffer_bytes = conf->buffer_bytes;
    job->mode = (Cachew__V1__ConsumerMode)conf->mode;
    job->consumers = conf->consumers;
    job->at_most_once = conf->at_most_once;
    job->lease_items = conf->lease_items;
    job->autoscale = conf->autoscale ? conf->autoscale : job->autoscale;
    job->autoplace = conf->autoplace ? conf->autoplace : job->autoplace;
    job->optimize = conf->optimize ? conf->optimize : job->optimize;
    job->plan = conf->plan ? conf->plan : job->plan;
    job->profile = conf->profile ? conf->profile : job->profile;
    job->relaxed = conf->relaxed;
    job->apart = conf->apart;
    job->min_workers = conf->min_workers;
    job->max_workers = conf->max_workers;
    job->priority = conf->priority;
    job->weight = conf->weight;
    job->max_stall = conf->max_stall;
    job->client_price = conf->client_price;
}

/* What is said of bad elements: the messages of the first of them. */
struct bad_said {
    Cachew__V1__BadElement messages[CW_BAD_FIRST_MAX], *list[CW_BAD_FIRST_MAX];
};

/* Returns how many of the first elements are named. */
static size_t say_bad(struct cw_session *session, struct bad_said *said, uint64_t *ret_bad_n)
{
    const struct cw_bad_told *bad = &session->ledger.bad;
    size_t n = 0;
    *ret_bad_n = session->acked_bad_n = bad->n;
    for (; session->acked_bad_first < bad->first_n; session->acked_bad_first++) {
        const struct cw_bad_place *at = &bad->first[session->acked_bad_first];
        Cachew__V1__BadElement *message = said->list[n] = &said->messages[n];
        cw_wire_bad_element_to(cw_bad_list_at(at->list, (size_t)at->place), message);
        message->epoch = at->epoch;
        message->batch = at->batch;
        message->place = at->place;
        n++;
    }
    return n;
}

void cw_session_send_hello(struct cw_session *session)
{
    struct cw_session_conf *conf = &session->conf;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__ClientHello hello = CACHEW__V1__CLIENT_HELLO__INIT;
    Cachew__V1__JobOptions job = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Position position;
    struct cw_ack_sets report = {0};
    struct bad_said said;
    session->acked_bad_n = session->acked_bad_first = 0;
    hello.protocol = CW_PROTOCOL;
    hello.version = (char *)(uintptr_t)CW_VERSION;
    hello.client_id = session->client_id;
    hello.consumer = conf->consumer;
    hello.host_id = session->job->client->host_id;
    hello.max_local = conf->local.max;
    hello.local_now = session->local ? cw_local_workers_wanted(session->local) : 0;
    if (session->begun && !session->restarting) {
        hello.job_id = session->job->id;
        cw_ack_sets_all(&report, &session->ledger);
        cw_ack_sets_position(&session->ledger, &position);
        hello.received = report.received;
        hello.n_received = report.received_n;
        hello.consumed = report.consumed;
        hello.n_consumed = report.consumed_n;
        hello.position = &position;
        hello.n_bad = say_bad(session, &said, &hello.bad_n);
        hello.bad = said.list;
        /* On a new stream the dispatcher assumes that no batch waits for the trainer. */
        cw_session_note_acked(session, true);
    } else {
        hello.job = &job;
        fill_job(conf, &job);
        hello.token.data = conf->token_bytes;
        hello.token.len = conf->token_n;
    }
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    send(session, &message);
    if (job.graph)
        cw_wire_graph_free(job.graph);
    cw_ack_sets_fini(&report);
}

static double wait_share(struct cw_session *session, int64_t now)
{
    uint64_t waited = atomic_load_explicit(&session->job->counts.wait_ns, memory_order_relaxed);
    double share = session->acked_ns ? (double)(waited - session->acked_wait_ns) /
                                           (double)CW_MAX(now - session->acked_ns, 1)
                                     : 0;
    session->acked_wait_ns = waited;
    return CW_MIN(share, 1.0);
}

static uint64_t since(const _Atomic uint64_t *counter, uint64_t *reported)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed), more = now - *reported;
    *reported = now;
    return more;
}

static void take_measure(struct cw_session *session, Cachew__V1__Measure *ret_measure)
{
    struct cw_trainer_measure_sum sum;
    cw_trainer_measure_take(&session->job->measure, &sum);
    ret_measure->batches = sum.batches;
    ret_measure->ns = (uint64_t)sum.ns;
    ret_measure->wait_ns = (uint64_t)sum.wait_ns;
    ret_measure->step_ns = (uint64_t)sum.step_ns;
    ret_measure->bytes = since(&session->job->counts.bytes, &session->acked_bytes);
    ret_measure->copies = since(&session->job->counts.copies, &session->acked_copies);
}

static bool is_starving(const struct cw_session *session)
{
    return session->job->sparse &&
           session->ledger.serial ==
               atomic_load_explicit(&session->job->given, memory_order_relaxed);
}

static bool has_new_acks(const struct cw_session *session)
{
    return session->ledger.received.n > 0 || session->ledger.consumed.n > 0 ||
           session->ledger.consumed_n > 0 || session->ledger.bad.n != session->acked_bad_n ||
           (is_starving(session) && !session->ack.sent.starving);
}

void cw_session_note_acked(struct cw_session *session, bool starving)
{
    const struct cw_ledger *ledger = &session->ledger;
    session->ack.sent.starving = starving;
    session->ack.sent.first_missing = cw_reorder_first_missing(&ledger->reorder);
    session->ack.sent.unconsumed = ledger->pos.epoch * ledger->reorder.mine + ledger->pos.item;
}

static void send_ack(struct cw_session *session, bool news)
{
    struct bad_said said;
    int64_t now = cw_clock_ns();
    struct cw_ledger *ledger = &session->ledger;
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    Cachew__V1__Position position;
    Cachew__V1__Measure measure = CACHEW__V1__MEASURE__INIT;
    struct cw_ack_sets report = {0};
    take_measure(session, &measure);
    ack.measure = &measure;
    /* The ledger forgets the items that it reports. If the stream breaks now, the next hello reports
     * everything. */
    cw_ack_sets_take_new(&report, ledger);
    cw_ack_sets_position(ledger, &position);
    ack.received = report.received;
    ack.n_received = report.received_n;
    ack.consumed = report.consumed;
    ack.n_consumed = report.consumed_n;
    ack.wait_share = wait_share(session, now);
    ack.buffered_bytes = cw_ledger_bytes(ledger);
    ack.ready = ledger->serial - atomic_load_explicit(&session->job->given, memory_order_relaxed);
    cw_session_note_acked(session, ack.ready == 0);
    ack.position = news ? &position : NULL;
    ack.n_bad = say_bad(session, &said, &ack.bad_n);
    ack.bad = said.list;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    message.ack = &ack;
    send(session, &message);
    cw_ack_sets_fini(&report);
    ledger->consumed_n = 0;
    session->acked_ns = now;
}

void cw_session_send_ack(struct cw_session *session)
{
    if (session->welcome && has_new_acks(session))
        send_ack(session, true);
}

/* The dispatcher does not read an acknowledgement that comes before its welcome. */
void cw_session_send_alive(struct cw_session *session)
{
    struct cw_ack_schedule nothing = {.age_ns = cw_clock_ns() - session->said_ns};
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    if (!session->stream || session->welcome || !cw_ack_schedule_is_due(&nothing))
        return;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_ACK;
    message.ack = &ack;
    send(session, &message);
}

static bool is_due(struct cw_session *session)
{
    struct cw_ack_schedule *ack = &session->ack;
    if (cw_fault_rare("client.ack_now"))
        return true;
    if (cw_fault_rare("client.ack_late"))
        return false;
    ack->news = has_new_acks(session);
    ack->age_ns = cw_clock_ns() - session->acked_ns;
    ack->consumed_n = session->ledger.consumed_n;
    ack->starving = is_starving(session);
    if (ack->starving)
        ack->first_missing = cw_reorder_first_missing(&session->ledger.reorder);
    return cw_ack_schedule_is_due(ack);
}

void cw_session_send_ack_when_due(struct cw_session *session)
{
    if (session->welcome && is_due(session))
        send_ack(session, session->ack.news);
}

static void send_lost(struct cw_session *session, uint64_t worker_id, const char *why)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__WorkerLost lost = CACHEW__V1__WORKER_LOST__INIT;
    lost.worker_id = worker_id;
    lost.error = (char *)(uintptr_t)why;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_LOST;
    message.worker_lost = &lost;
    send(session, &message);
}

bool cw_session_send_worker_lost(struct cw_session *session, uint64_t worker_id, const char *why)
{
    if (!session->welcome)
        return false;
    cw_ledger_settle(&session->ledger);
    cw_session_send_ack(session); /* What has come from that worker is reported first. */
    send_lost(session, worker_id, why);
    return true;
}

void cw_session_send_unfetched(struct cw_session *session)
{
    if (!session->welcome || cw_stream_queued(session->stream) > CW_SESSION_UNREAD_MAX)
        return;
    for (size_t i = 0; i < session->unfetched_n; i++)
        send_lost(session, session->unfetched[i], "this client fetches from enough other workers");
}

void cw_session_send_worker_found(struct cw_session *session, uint64_t worker_id)
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

void cw_session_send_local_failed(struct cw_session *session, const char *error)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__LocalFailed failed = CACHEW__V1__LOCAL_FAILED__INIT;
    cw_autofree char *text = cw_mem_strdup(error);
    if (!session->stream)
        return; /* The next hello says that this client starts no local workers. */
    failed.error = text;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_LOCAL_FAILED;
    message.local_failed = &failed;
    send(session, &message);
}

void cw_session_send_bye(struct cw_session *session)
{
    Cachew__V1__ClientMessage message = CACHEW__V1__CLIENT_MESSAGE__INIT;
    Cachew__V1__Bye bye = CACHEW__V1__BYE__INIT;
    message.kind_case = CACHEW__V1__CLIENT_MESSAGE__KIND_BYE;
    message.bye = &bye;
    send(session, &message);
}
