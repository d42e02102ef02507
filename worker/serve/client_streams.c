/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of clients (Data.Fetch): each consumer has one to each worker. The lowest output is
 * sent first, within the client's credit in bytes; many small outputs share a message. Of outputs
 * that were sent only the numbers are kept: when the stream ends, those that the dispatcher has not
 * reported as received are handed back to it. */
#include "worker/serve/client_streams.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "proto/descriptors.h"
#include "wire/wire.h"
#include "worker/compute/outputs.h"
#include "worker/compute/tasks.h"
#include "worker/message/to_dispatcher.h"
#include "worker/serve/fetch_gate.h"
#include "worker/serve/shm_transport.h"

#define MESSAGE_OUTPUTS 256
#define MESSAGE_BYTES ((size_t)256 << 10)
/* Number of epochs of which the sent items are remembered: more than can be in progress. */
#define SENT_EPOCHS_MAX 64
#define CREDIT_MAX (INT64_MAX / 4)

/* Returns the client with which a callback was registered. */
static struct cw_wclient *client_of(void *arg)
{
    struct cw_wclient *c = arg;
    CW_ASSERT(c && c->magic == CW_WCLIENT_MAGIC);
    return c;
}

/* Removes what is held again: it was leased anew since it was sent, to be sent on another stream. If
 * it were handed back, the dispatcher would take that for the newer lease, and lease the item once
 * more; that lease would be ignored here. */
static void leave_held(struct cw_wjob *job, uint64_t epoch, struct cw_set *items)
{
    const struct cw_set *held = &cw_wjob_epoch(job, epoch)->held;
    for (size_t i = 0; i < held->n; i++)
        cw_set_remove(items, held->v[i].lo, held->v[i].hi);
}

/* Handles the end of a stream: what was sent on it may be lost. An item that goes to all consumers
 * may still be held here, for those that have not been sent their copies. These copies are dropped
 * as well: as long as the item is held, the hello to the dispatcher would list it and another lease
 * of it would be ignored, so nobody would send this consumer its copy again. */
static void hand_back_sent(struct cw_wclient *c)
{
    struct cw_wjob *job = cw_wjob_get(c->worker, c->job_id);
    for (size_t i = 0; i < c->sent_n; i++) {
        struct cw_epoch_set *sent = &c->sent[i];
        if (job && job->to_all)
            cw_outputs_drop(job, sent->epoch, &sent->items);
        if (job)
            leave_held(job, sent->epoch, &sent->items);
        cw_report_hand_back(c->worker, c->job_id, sent->epoch, &sent->items);
    }
}

static void client_free(struct cw_wclient *c)
{
    struct cw_worker_state *w = c->worker;
    if (c->job && c->job->clients[c->consumer] == c)
        c->job->clients[c->consumer] = NULL;
    cw_shm_transport_end(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        w->clients = c->next;
    if (c->next)
        c->next->prev = c->prev;
    w->clients_n--;
    if (!w->closing && c->job_id)
        hand_back_sent(c);
    for (size_t i = 0; i < c->sent_n; i++)
        cw_set_fini(&c->sent[i].items);
    cw_mem_free(c->sent);
    cw_stream_free(c->stream);
    cw_mem_free(c->job_id);
    c->magic = 0;
    cw_mem_free(c);
}

/* Ends a stream with an error; on_close frees the client. */
static void refuse(struct cw_wclient *c, int code, const char *why)
{
    cw_log_warn("worker", "client %s: %s", cw_stream_peer(c->stream), why);
    cw_stream_finish(c->stream, code, why);
}

/* ---- sending ---- */

static struct cw_set *sent_of(struct cw_wclient *c, uint64_t epoch)
{
    for (size_t i = c->sent_n; i-- > 0;)
        if (c->sent[i].epoch == epoch)
            return &c->sent[i].items;
    for (size_t i = 0; i < c->sent_n; i++)
        if (c->sent[i].items.n == 0) {
            c->sent[i].epoch = epoch;
            return &c->sent[i].items;
        }
    if (c->sent_n < SENT_EPOCHS_MAX) {
        CW_GROW(c->sent, c->sent_n, c->sent_cap);
        c->sent[c->sent_n] = (struct cw_epoch_set){.epoch = epoch};
        return &c->sent[c->sent_n++].items;
    }
    struct cw_epoch_set *oldest = &c->sent[0];
    for (size_t i = 1; i < c->sent_n; i++)
        if (c->sent[i].epoch < oldest->epoch)
            oldest = &c->sent[i];
    oldest->epoch = epoch;
    cw_set_clear(&oldest->items);
    return &oldest->items;
}

/* Whether an output may be sent. If it comes before an output that the client has already, it may
 * be the one for which the client waits with its buffer full of later ones: then it needs no
 * credit. */
static bool may_send(const struct cw_wclient *c, const struct cw_output *o)
{
    return c->credit > 0 ||
           (c->sent_any && cw_item_before(o->epoch, o->item, c->last_epoch, c->last_item));
}

/* Whether an output is for this client. In a shared job another client may have held the consumer's
 * slot before, and the dispatcher's revoke of what that one was to get may still be on its way. */
static bool is_for(const struct cw_wclient *c, const struct cw_output *o)
{
    return o->client_id == 0 || o->client_id == c->client_id;
}

/* Moves the outputs at the front of the queue that are for another client to `ret_others`. */
static void set_others_aside(const struct cw_wclient *c, struct cw_outq *q,
                             struct cw_outq *ret_others)
{
    while (cw_outq_first(q) && !is_for(c, cw_outq_first(q)))
        cw_outq_push(ret_others, cw_outq_pop(q));
}

static void put_back(struct cw_outq *q, struct cw_outq *others)
{
    for (size_t i = 0; i < others->n; i++)
        cw_outq_push(q, others->v[i]);
    cw_mem_free(others->v);
}

static void note_sent(struct cw_wclient *c, const struct cw_output *o)
{
    c->credit -= (int64_t)o->bytes;
    cw_set_add(sent_of(c, o->epoch), o->item, o->item + 1);
    if (!c->sent_any || cw_item_before(c->last_epoch, c->last_item, o->epoch, o->item)) {
        c->sent_any = true;
        c->last_epoch = o->epoch;
        c->last_item = o->item;
    }
}

/* Sends one message; returns false if nothing may be sent. */
static bool send_some(struct cw_wclient *c, struct cw_outq *q)
{
    struct cw_wire_outbox *box = NULL;
    struct cw_wjob *job = c->job;
    struct cw_outq others = {0};
    size_t n = 0, bytes = 0;
    size_t most = cw_fault_rare("worker.one_output") ? 1 : MESSAGE_OUTPUTS;
    while (n < most && bytes < MESSAGE_BYTES) {
        set_others_aside(c, q, &others);
        struct cw_output *o = cw_outq_first(q);
        if (!o || !may_send(c, o))
            break;
        cw_outq_pop(q);
        note_sent(c, o);
        if (!box)
            box = cw_wire_outbox_new();
        if (o->batch)
            cw_wire_outbox_add(box, o->batch, cw_shm_transport_lend(c, o->batch));
        else
            cw_wire_outbox_add_packed(box, o->size, o->packed);
        n++;
        bytes += o->bytes + (o->batch ? cw_bad_list_held(o->batch->bad) : o->size.head);
        cw_output_release(job, o);
    }
    put_back(q, &others);
    if (!box)
        return false;
    cw_fault_point("worker.send");
    if (!cw_shm_transport_send(c, box))
        cw_wire_outbox_send(box, c->stream);
    return true;
}

void cw_wclient_pump(struct cw_wclient *c)
{
    if (!c->job || !c->stream || cw_shm_transport_is_pending(c))
        return;
    struct cw_outq *q = &c->job->queues[c->consumer];
    while (cw_stream_queued(c->stream) < CW_WCLIENT_STREAM_LOW &&
           !cw_fault_rare("worker.queue_full") && send_some(c, q)) {
    }
}

void cw_wclients_pump_all(struct cw_worker_state *w)
{
    for (struct cw_wclient *c = w->clients; c; c = c->next)
        cw_wclient_pump(c);
}

void cw_wclients_received(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items)
{
    for (uint32_t i = 0; i < job->consumers; i++) {
        struct cw_wclient *c = job->clients[i];
        for (size_t k = 0; c && k < c->sent_n; k++)
            if (c->sent[k].epoch == epoch)
                cw_set_remove_all(&c->sent[k].items, items);
    }
}

static void on_low(void *arg)
{
    struct cw_wclient *c = client_of(arg);
    cw_wclient_pump(c);
    cw_tasks_pump(c->worker);
}

/* ---- jobs ---- */

/* Whether the client has shown what clients of the job know. Those of older versions know nothing,
 * and are served where nobody else can come. */
static bool knows_secret(const struct cw_wclient *c, const struct cw_wjob *job)
{
    if (c->secret_n == 0)
        return !job->secret_required && !c->worker->needs_secret;
    return job->secret_n == 0 ? !c->worker->needs_secret
                              : cw_secret_equal(c->secret, c->secret_n, job->secret, job->secret_n);
}

/* Refuses a client that the job is not for. */
static bool refuse_stranger(struct cw_wclient *c, const struct cw_wjob *job)
{
    if (!cw_wclients_is_of_tenant(cw_stream_caller(c->stream), job->cache.tenant))
        refuse(c, CW_E_DENIED, "the certificate that was shown is another tenant's");
    else if (!knows_secret(c, job))
        refuse(c, CW_E_DENIED, "the client does not know the secret of the job");
    else
        return false;
    return true;
}

static void bind(struct cw_wclient *c, struct cw_wjob *job)
{
    if (refuse_stranger(c, job))
        return;
    if (c->consumer >= job->consumers) {
        refuse(c, CW_E_INVALID, "the job has no such consumer");
        return;
    }
    struct cw_wclient *former = job->clients[c->consumer];
    c->job = job;
    job->clients[c->consumer] = c;
    if (former) {
        former->job = NULL;
        refuse(former, CW_E_STATE, "another stream of this consumer took its place");
    }
    cw_wclient_pump(c);
}

void cw_wclients_bind(struct cw_wjob *job)
{
    for (struct cw_wclient *c = job->worker->clients; c; c = c->next)
        if (!c->job && c->job_id && strcmp(c->job_id, job->id) == 0)
            bind(c, job);
}

void cw_wclients_unbind(struct cw_wjob *job)
{
    for (uint32_t i = 0; i < job->consumers; i++) {
        if (!job->clients[i])
            continue;
        for (size_t k = 0; k < job->clients[i]->sent_n; k++)
            cw_set_clear(&job->clients[i]->sent[k].items);
        job->clients[i]->job = NULL;
        job->clients[i] = NULL;
    }
}

/* ---- messages of clients ---- */

static void on_hello(struct cw_wclient *c, const Cachew__V1__FetchHello *hello)
{
    struct cw_worker_state *w = c->worker;
    if (c->job_id) {
        refuse(c, CW_E_INVALID, "a second hello");
        return;
    }
    if (!cw_protocol_is_served(hello->protocol)) {
        char why[160];
        snprintf(why, sizeof(why),
                 "the client speaks protocol %u, this worker protocols %d and %d: upgrade the "
                 "older one, workers before trainers",
                 hello->protocol, CW_PROTOCOL_OLDEST, CW_PROTOCOL);
        refuse(c, CW_E_UNSUPPORTED, why);
        return;
    }
    if (hello->job_id[0] == '\0' || strlen(hello->job_id) > CW_JOB_ID_MAX) {
        refuse(c, CW_E_INVALID, "a hello without a job");
        return;
    }
    c->job_id = cw_mem_strdup(hello->job_id);
    c->secret_n = hello->secret.len == CW_SECRET_BYTES ? CW_SECRET_BYTES : 0;
    if (c->secret_n > 0)
        memcpy(c->secret, hello->secret.data, CW_SECRET_BYTES);
    c->client_id = hello->client_id;
    c->consumer = hello->consumer;
    c->credit = (int64_t)CW_MIN(hello->credit, (uint64_t)CREDIT_MAX);
    struct cw_wjob *job = cw_wjob_get(w, c->job_id);
    if (job && refuse_stranger(c, job))
        return;
    Cachew__V1__DataWelcome welcome = CACHEW__V1__DATA_WELCOME__INIT;
    welcome.worker_id = w->id;
    if (hello->want_shm && strcmp(hello->host_id, w->host_id) == 0)
        cw_shm_transport_offer(c, &welcome);
    Cachew__V1__DataMessage m = CACHEW__V1__DATA_MESSAGE__INIT;
    m.welcome = &welcome;
    cw_wire_send(c->stream, &m.base);
    cw_log_debug("worker", "job=%s client of consumer %u at %s", c->job_id, c->consumer,
                 cw_stream_peer(c->stream));
    if (job)
        bind(c, job);
}

static void run_message(struct cw_wclient *c, const Cachew__V1__FetchMessage *m)
{
    if (m->kind_case != CACHEW__V1__FETCH_MESSAGE__KIND_HELLO && !c->job_id) {
        refuse(c, CW_E_INVALID, "the first message is not a hello");
        return;
    }
    switch (m->kind_case) {
    case CACHEW__V1__FETCH_MESSAGE__KIND_HELLO:
        on_hello(c, m->hello);
        break;
    case CACHEW__V1__FETCH_MESSAGE__KIND_CREDIT:
        c->credit += (int64_t)CW_MIN(m->credit->bytes,
                                     (uint64_t)(CREDIT_MAX - CW_MAX(c->credit, (int64_t)0)));
        cw_wclient_pump(c);
        cw_tasks_pump(c->worker);
        break;
    case CACHEW__V1__FETCH_MESSAGE__KIND_RELEASE:
        for (size_t i = 0; i < m->release->n_slots; i++)
            cw_shm_transport_release(c, m->release->slots[i]);
        break;
    case CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY:
        cw_shm_transport_answer(c, m->shm_ready);
        cw_wclient_pump(c);
        break;
    case CACHEW__V1__FETCH_MESSAGE__KIND__NOT_SET:
    default: /* a message of a newer client */
        break;
    }
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_wclient *c = client_of(arg);
    struct cw_err err = {0};
    Cachew__V1__FetchMessage *m = (Cachew__V1__FetchMessage *)cw_wire_unpack(
        &cachew__v1__fetch_message__descriptor, msg, &err);
    if (!m) {
        refuse(c, CW_E_CORRUPT, err.msg);
        return;
    }
    run_message(c, m);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_wclient *c = client_of(arg);
    cw_log_debug("worker", "job=%s client of consumer %u left: %s %s", c->job_id ? c->job_id : "-",
                 c->consumer, code ? cw_err_name(code) : "ended", msg ? msg : "");
    struct cw_worker_state *w = c->worker;
    client_free(c);
    cw_tasks_pump(w); /* the client's answer may have freed memory */
}

static void handle_fetch(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {
        .on_message = on_message, .on_low = on_low, .on_close = on_close};
    struct cw_worker_state *w = arg;
    struct cw_wclient *c = CW_NEW(struct cw_wclient);
    c->magic = CW_WCLIENT_MAGIC;
    c->worker = w;
    c->stream = stream;
    c->shm_fd = -1;
    c->next = w->clients;
    if (c->next)
        c->next->prev = c;
    w->clients = c;
    w->clients_n++;
    cw_stream_accept(stream, &cb, c);
    cw_stream_set_low(stream, CW_WCLIENT_STREAM_LOW / 2);
    if (w->clients_n > CW_WCLIENTS_MAX)
        refuse(c, CW_E_LIMIT, "too many clients on this worker");
}

void cw_wclients_add_methods(struct cw_worker_state *w)
{
    cw_server_add(
        w->server,
        &(struct cw_method){.path = "/cachew.v1.Data/Fetch", .stream = handle_fetch, .arg = w});
    cw_server_add_health(w->server);
    cw_server_add_reflection(w->server, cw_proto_descriptors, cw_proto_descriptors_n);
}

void cw_wclients_close_all(struct cw_worker_state *w)
{
    while (w->clients) {
        if (w->drain.done)
            cw_stream_finish(w->clients->stream, 0, NULL);
        client_free(w->clients);
    }
}
