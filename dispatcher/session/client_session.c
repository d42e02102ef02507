/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of clients: which messages may arrive and in which order, and how a stream ends.
 * client_admission.c gives a client its consumer slot. */
#include "base/limits.h"
#include "dispatcher/access/access.h"
#include "dispatcher/autocache/autocache.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/ack_turns.h"
#include "dispatcher/session/client_pipeline.h"
#include "dispatcher/session/inbox.h"
#include "dispatcher/session/session.h"

#define HELLO_LIMIT_MS 10000
#define CLIENTS_MAX 20000

static void client_free(struct cw_client *client)
{
    struct cw_dispatcher *d = client->d;
    cw_client_detach(client);
    for (struct cw_client **at = &d->clients; *at; at = &(*at)->next) {
        if (*at == client) {
            *at = client->next;
            break;
        }
    }
    d->clients_n--;
    cw_ack_turns_drop(client);
    cw_inbox_free(client->inbox);
    cw_stream_free(client->stream);
    if (client->hello)
        cw_inbox_drop_kept(d, &client->hello->base, client->hello_is_large);
    if (client->ack)
        cw_inbox_drop_kept(d, &client->ack->base, true);
    cw_client_pipeline_free(client->pipeline);
    client->magic = 0;
    cw_mem_free(client->host_id);
    cw_mem_free(client);
}

static size_t count_intervals(Cachew__V1__EpochSet *const *sets, size_t n)
{
    size_t intervals = 0;
    for (size_t i = 0; i < n; i++)
        intervals += sets[i]->n_items;
    return intervals;
}

/* The rest of an acknowledgement, when all that the trainer says to have was taken. */
static void take_measured(struct cw_client *client, const Cachew__V1__Ack *ack)
{
    struct cw_job *job = client->job;
    struct cw_consumer *slot = &job->consumers[client->consumer];
    slot->wait_share = ack->wait_share;
    slot->ready = ack->ready;
    if (ack->n_received > 0 || ack->n_consumed > 0 || ack->ready > 0)
        slot->moved_ms = cw_clock_ms();
    /* The window depends on what one consumer has received or taken from its queue. */
    if (job->info->sparse)
        cw_job_leases_due(job);
    cw_autocache_ack(job, ack->measure);
    cw_scaling_measured(job, ack);
    cw_telemetry_measured(job, client->consumer, ack);
    cw_telemetry_take_bad(job, client->consumer, client->id, ack->bad_n, ack->bad, ack->n_bad);
    if (ack->position) {
        const Cachew__V1__Position *p = ack->position;
        slot->position = (struct cw_state_position){p->epoch, p->item, p->row, p->rows, p->batches};
        slot->position_dirty = job->due.progress = true;
    }
    cw_job_advance(job);
    cw_fault_point("dispatcher.ack");
}

static void on_acked(struct cw_client *client, int rc, const struct cw_err *err)
{
    Cachew__V1__ClientMessage *message = cw_steal(&client->ack);
    if (rc == 0)
        take_measured(client, message->ack);
    else
        cw_client_fail(client, rc, err->msg);
    if (client->ack_turns) /* else the message is being delivered */
        cw_inbox_drop_kept(client->d, &message->base, true);
}

/* Returns whether the message is kept: all of it takes several iterations of the loop. */
static bool handle_ack(struct cw_client *client, Cachew__V1__ClientMessage *message)
{
    const Cachew__V1__Ack *ack = message->ack;
    if (count_intervals(ack->received, ack->n_received) +
            count_intervals(ack->consumed, ack->n_consumed) >
        CW_ACK_INTERVALS_MAX) {
        cw_client_fail(client, CW_E_LIMIT, "an acknowledgement of too many intervals");
        return false;
    }
    const struct cw_ack said = {.received = ack->received,
                                .received_n = ack->n_received,
                                .consumed = ack->consumed,
                                .consumed_n = ack->n_consumed};
    client->ack = message;
    return !cw_ack_turns_begin(client, &said, on_acked);
}

static struct cw_share *share_with(const struct cw_client *client, uint64_t worker_id)
{
    return cw_map_get(&client->job->shares_by_worker, worker_id);
}

static void handle_worker_lost(struct cw_client *client, const Cachew__V1__WorkerLost *lost)
{
    struct cw_share *share = share_with(client, lost->worker_id);
    if (share) {
        if (cw_unreachable_add(share, client->consumer, lost->error, cw_clock_ms()))
            cw_log_warn(CW_LOG_MOD,
                        "job=%s worker=%s: the client of consumer %u cannot reach it: %s",
                        client->job->id, share->worker->address, client->consumer, lost->error);
        cw_lease_free_consumer(share, client->consumer);
        cw_job_leases_due(client->job);
    }
    cw_fault_point("dispatcher.worker_lost");
}

static void handle_worker_found(struct cw_client *client, uint64_t worker_id)
{
    struct cw_share *share = share_with(client, worker_id);
    if (share)
        cw_unreachable_remove(share, client->consumer);
    cw_job_leases_due(client->job);
    cw_fault_point("dispatcher.worker_lost");
}

static void handle_local_failed(struct cw_client *client, const char *error)
{
    cw_log_warn(CW_LOG_MOD, "job=%s client=%s cannot start local workers: %s", client->job->id,
                cw_stream_peer(client->stream), error);
    client->max_local = client->local_share = client->local_sent = 0;
}

void cw_client_leave(struct cw_client *client)
{
    struct cw_job *job = client->job;
    struct cw_consumer *slot = &job->consumers[client->consumer];
    if (slot->client == client) {
        slot->bye = true;
        if (job->layout.mode == CW_MODE_SHARED)
            cw_job_release_consumer(job, client->consumer);
        cw_job_flush(job);
    }
    cw_client_detach(client);
}

static void handle_bye(struct cw_client *client)
{
    struct cw_job *job = client->job;
    if (!client->admitted)
        cw_log_info(CW_LOG_MOD, "job=%s consumer=%u: client %s does not wait any longer", job->id,
                    client->consumer, cw_stream_peer(client->stream));
    cw_client_leave(client);
    client->failed = true;
    cw_stream_finish(client->stream, 0, "");
    if (job->name[0] == '\0' && !cw_job_has_clients(job))
        cw_clients_end_job(job, "its client closed it");
    cw_fault_point("dispatcher.bye");
}

static void handle_hello(struct cw_client *client, Cachew__V1__ClientMessage *message)
{
    client->hello = message;
    client->hello_is_large = cw_inbox_is_large(client->inbox);
    struct cw_err err = {0};
    int rc = 0;
    /* The code is one after which the client tries again, perhaps at the dispatcher with the higher
     * generation. */
    if (message->generation > client->d->generation) {
        rc = cw_err_set(&err, CW_E_UNAVAILABLE,
                        "the dispatcher has generation %llu, and this trainer has seen %llu: "
                        "another has taken over, or its state is an older "
                        "copy (its log says what to do)",
                        (unsigned long long)client->d->generation,
                        (unsigned long long)message->generation);
        cw_session_note_generation(client->d, message->generation, "client",
                                   cw_stream_peer(client->stream));
    }
    if (rc == 0)
        rc = cw_client_hello(client, &err);
    if (rc != 0) {
        cw_log_warn(CW_LOG_MOD, "client %s is refused: %s", cw_stream_peer(client->stream),
                    err.msg);
        cw_client_fail(client, rc, err.msg);
        return;
    }
    /* A job that was made of it has taken what it needs; others wait without it. */
    cw_client_pipeline_free(cw_steal(&client->pipeline));
    cw_job_clients_changed(client->job);
    cw_scaling_client_joined(client->job, message->hello->local_now);
    cw_client_replace_waiting(client);
    cw_client_admit(client);
    if (!client->failed && cw_fault_rare("session.client_hello"))
        cw_client_fail(client, CW_E_UNAVAILABLE, "sent away after its hello, in a test");
    cw_fault_point("dispatcher.client_hello");
}

/* Returns whether the message was kept, so that the caller does not free it. */
static bool handle(struct cw_client *client, Cachew__V1__ClientMessage *message)
{
    bool is_hello = message->kind_case == CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO;
    if (is_hello && !client->job && client->id == 0) {
        handle_hello(client, message);
        return true;
    }
    if (is_hello || !client->job) {
        cw_client_fail(client, CW_E_INVALID,
                       is_hello ? "a second hello" : "the first message must be a hello");
        return false;
    }
    if (message->kind_case == CACHEW__V1__CLIENT_MESSAGE__KIND_LOCAL_FAILED) {
        handle_local_failed(client, message->local_failed->error);
        return false;
    }
    if (!client->admitted && message->kind_case != CACHEW__V1__CLIENT_MESSAGE__KIND_BYE)
        return false; /* A client without a consumer slot may only say goodbye. */
    switch (message->kind_case) {
    case CACHEW__V1__CLIENT_MESSAGE__KIND_ACK:
        return handle_ack(client, message);
    case CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_LOST:
        handle_worker_lost(client, message->worker_lost);
        break;
    case CACHEW__V1__CLIENT_MESSAGE__KIND_WORKER_FOUND:
        handle_worker_found(client, message->worker_found->worker_id);
        break;
    case CACHEW__V1__CLIENT_MESSAGE__KIND_BYE:
        handle_bye(client);
        break;
    case CACHEW__V1__CLIENT_MESSAGE__KIND_HELLO:
    case CACHEW__V1__CLIENT_MESSAGE__KIND_LOCAL_FAILED:
    case CACHEW__V1__CLIENT_MESSAGE__KIND__NOT_SET:
    default:
        break; /* A newer client may send messages that an older dispatcher need not know. */
    }
    return false;
}

static void take_message(struct cw_client *client, ProtobufCMessage *message,
                         struct cw_client_pipeline *pipeline, const struct cw_err *err)
{
    if (!message) {
        cw_log_warn(CW_LOG_MOD, "client %s sent something that is no message: %s",
                    cw_stream_peer(client->stream), err->msg);
        cw_client_fail(client, CW_E_INVALID, err->msg);
        return;
    }
    if (!client->hello && !client->pipeline)
        client->pipeline = cw_steal(&pipeline);
    cw_client_pipeline_free(pipeline);
    if (!handle(client, (Cachew__V1__ClientMessage *)message))
        cw_inbox_drop(client->inbox, message);
}

/* ---- what arrives ---- */
static void *read_more(ProtobufCMessage *message)
{
    return cw_client_pipeline_read((Cachew__V1__ClientMessage *)message);
}

static bool is_slow(const ProtobufCMessage *message)
{
    return cw_client_pipeline_is_slow((const Cachew__V1__ClientMessage *)message);
}

static void free_read(void *read)
{
    cw_client_pipeline_free(read);
}

static void on_unpacked(void *arg, ProtobufCMessage *message, void *read, const struct cw_err *err)
{
    struct cw_client *client = arg;
    if (!client->failed) {
        take_message(client, message, read, err);
        return;
    }
    cw_client_pipeline_free(read);
    if (message)
        cw_inbox_drop(client->inbox, message);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_client *client = arg;
    CW_ASSERT(client->magic == CW_CLIENT_TAG);
    if (!client->failed)
        cw_inbox_put(client->inbox, msg);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_client *client = arg;
    CW_ASSERT(client->magic == CW_CLIENT_TAG);
    if (client->job)
        cw_log_info(CW_LOG_MOD, "job=%s consumer=%u: client %s is gone: %s", client->job->id,
                    client->consumer, cw_stream_peer(client->stream),
                    code != 0 && msg ? msg : "closed");
    client_free(client);
}

void cw_client_session_open(void *dispatcher, struct cw_stream *stream)
{
    static const struct cw_stream_cb callbacks = {.on_message = on_message, .on_close = on_close};
    static const struct cw_inbox_kind messages = {&cachew__v1__client_message__descriptor,
                                                  read_more, free_read, is_slow, on_unpacked};
    struct cw_dispatcher *d = dispatcher;
    struct cw_client *client = CW_NEW(struct cw_client);
    client->inbox = cw_inbox_new(d, stream, &messages, client);
    client->magic = CW_CLIENT_TAG;
    client->d = d;
    client->stream = stream;
    client->caller = cw_stream_caller(stream);
    client->since_ms = cw_clock_ms();
    client->host_id = cw_mem_strdup("");
    client->next = d->clients;
    d->clients = client;
    d->clients_n++;
    cw_stream_accept(stream, &callbacks, client);
    if (d->clients_n > CLIENTS_MAX)
        cw_client_fail(client, CW_E_LIMIT, "the dispatcher has as many clients as it takes");
    else if (d->stopping)
        cw_client_fail(client, CW_E_UNAVAILABLE, "the dispatcher is stopping");
}

void cw_client_sessions_tick(struct cw_dispatcher *d, int64_t now)
{
    for (struct cw_client *client = d->clients, *next; client; client = next) {
        next = client->next;
        if (client->failed)
            continue;
        if (!client->job && client->id == 0 && now - client->since_ms > HELLO_LIMIT_MS &&
            !cw_inbox_is_reading(client->inbox))
            cw_client_fail(client, CW_E_TIMEOUT, "no hello came");
        else if (client->job && !client->admitted && client->place_wait_ms > 0)
            cw_client_admit(client);
    }
}

void cw_client_sessions_check_tokens(struct cw_dispatcher *d)
{
    for (struct cw_client *client = d->clients, *next; client; client = next) {
        next = client->next;
        /* The code is one after which the client connects again, and shows its token of then. */
        if (!client->failed && !cw_access_is_valid(d, client->caller))
            cw_client_fail(client, CW_E_UNAVAILABLE, "its token does not count any more");
    }
}

void cw_client_sessions_close(struct cw_dispatcher *d)
{
    while (d->clients)
        client_free(d->clients);
}
