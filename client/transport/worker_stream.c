/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a stream, and the messages that are sent to the worker. */
#include "client/transport/worker_stream_int.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "base/short_reason.h"
#include "client/transport/shm_release_queue.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "shm/shm.h"

#define BACKOFF_MIN_MS 50
#define BACKOFF_MAX_MS 2000

static void stream_open(void *arg);

/* ---- messages to the worker ---- */

static void send_hello(struct cw_worker_stream *stream)
{
    const struct cw_worker_stream_conf *conf = &stream->conf;
    Cachew__V1__FetchHello hello = CACHEW__V1__FETCH_HELLO__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.job_id = stream->job_id;
    hello.client_id = conf->client_id;
    hello.consumer = conf->consumer;
    hello.host_id = (char *)(uintptr_t)conf->host_id;
    hello.want_shm = stream->want_shm;
    hello.credit = cw_credit_begin(stream->credit, conf->events->room(conf->arg));
    if (conf->secret)
        hello.secret =
            (ProtobufCBinaryData){conf->secret->n, (uint8_t *)(uintptr_t)conf->secret->bytes};
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    cw_wire_send(stream->stream, &message.base);
}

static void send_credit(struct cw_worker_stream *stream, uint64_t bytes)
{
    Cachew__V1__Credit credit = CACHEW__V1__CREDIT__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    credit.bytes = bytes;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_CREDIT;
    message.credit = &credit;
    cw_wire_send(stream->stream, &message.base);
}

static void send_slots(struct cw_worker_stream *stream, bool all)
{
    uint64_t *slots = NULL;
    size_t n = cw_shm_release_queue_take(stream->released, all, &slots);
    if (n == 0)
        return;
    Cachew__V1__Release release = CACHEW__V1__RELEASE__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    release.n_slots = n;
    release.slots = slots;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_RELEASE;
    message.release = &release;
    cw_wire_send(stream->stream, &message.base);
    cw_mem_free(slots);
}

void cw_worker_stream_flush(struct cw_worker_stream *stream, uint64_t room, bool all)
{
    if (!stream->up)
        return;
    uint64_t bytes = cw_credit_grant(stream->credit, room, all);
    bool enough = bytes > 0;
    if (enough)
        send_credit(stream, bytes);
    if (stream->released) /* Memory that is free here is free in the worker's slots as well. */
        send_slots(stream, all || enough);
}

static void report_lost(struct cw_worker_stream *stream, const char *why)
{
    const struct cw_worker_stream_conf *conf = &stream->conf;
    stream->unreported = !conf->events->lost(conf->arg, conf->worker_id, why);
}

static void report_found(struct cw_worker_stream *stream)
{
    const struct cw_worker_stream_conf *conf = &stream->conf;
    conf->events->found(conf->arg, conf->worker_id);
}

void cw_worker_stream_report(struct cw_worker_stream *stream)
{
    if (!stream->unreported && !stream->was_lost)
        return;
    report_lost(stream, stream->why[0] ? stream->why : "the stream to it broke");
    if (!stream->was_lost)
        report_found(stream);
}

uint64_t cw_worker_stream_promised(const struct cw_worker_stream *stream)
{
    return cw_credit_promised(stream->credit);
}

void cw_worker_stream_let_one(struct cw_worker_stream *stream)
{
    uint64_t bytes = stream->up ? cw_credit_grant_one(stream->credit) : 0;
    if (bytes > 0)
        send_credit(stream, bytes);
}

void cw_worker_stream_overdraw(struct cw_worker_stream *stream)
{
    if (stream->up)
        send_credit(stream, cw_credit_overdraw(stream->credit));
}

void cw_worker_stream_set_limit(struct cw_worker_stream *stream, uint64_t bytes)
{
    stream->credit->limit = bytes;
}

static void stream_fail(struct cw_worker_stream *stream, const struct cw_err *err);

static void on_welcome(struct cw_worker_stream *stream, const Cachew__V1__DataWelcome *welcome)
{
    stream->up = true;
    stream->backoff_ms = BACKOFF_MIN_MS;
    cw_worker_stream_shm_start(stream, welcome, cw_worker_stream_on_socket);
    if (stream->was_lost)
        report_found(stream);
    stream->was_lost = false;
    stream->conf.events->changed(stream->conf.arg);
}

static int take_message(struct cw_worker_stream *stream, struct cw_rpc_msg *msg, size_t *outputs,
                        struct cw_err *err)
{
    struct cw_wire_data data = {0};
    int rc = cw_wire_data_parse(msg, &data, err);
    if (rc == 0 && cw_fault_rare("client.stream_breaks"))
        rc = cw_err_set(err, CW_E_UNAVAILABLE, "the stream breaks, in a test");
    if (rc == 0 && data.head->welcome && stream->up)
        rc = cw_err_set(err, CW_E_CORRUPT, "it sent two welcomes on one connection");
    else if (rc == 0 && data.head->welcome)
        on_welcome(stream, data.head->welcome);
    if (rc == 0)
        rc = cw_worker_stream_recv_data(stream, msg, &data, outputs, err);
    cw_wire_data_fini(&data);
    return rc;
}

/* Acts on what was taken in. */
static void taken(struct cw_worker_stream *stream, int rc, size_t outputs, const struct cw_err *err)
{
    if (rc != 0)
        stream_fail(stream, err);
    else if (outputs > 0)
        stream->conf.events->message(stream->conf.arg);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_worker_stream *stream = arg;
    struct cw_err err = {0};
    size_t outputs = 0;
    int rc = take_message(stream, msg, &outputs, &err);
    taken(stream, rc, outputs, &err);
}

void cw_worker_stream_on_socket(void *arg)
{
    struct cw_worker_stream *stream = arg;
    struct cw_err err = {0};
    size_t outputs = 0;
    int rc = cw_worker_stream_shm_take(stream, &outputs, &err);
    taken(stream, rc, outputs, &err);
}

/* ---- life of a stream ---- */

static void stream_down(struct cw_worker_stream *stream, const char *why)
{
    cw_stream_free(stream->stream);
    stream->stream = NULL;
    cw_channel_close(stream->channel);
    stream->channel = NULL;
    cw_credit_end(stream->credit);
    cw_worker_stream_shm_stop(stream);
    stream->up = false;
    stream->was_lost = true;
    snprintf(stream->why, sizeof(stream->why), "%s", why);
    report_lost(stream, why);
    stream->conf.events->changed(stream->conf.arg);
    if (stream->listed)
        cw_timer_start(stream->retry, stream->backoff_ms, 0);
    stream->backoff_ms = CW_MIN(2 * stream->backoff_ms, BACKOFF_MAX_MS);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_worker_stream *stream = arg;
    cw_log_debug("client", "stream to worker %s ended: %s: %s", stream->address, cw_err_name(code),
                 msg ? msg : "");
    char why[sizeof(stream->why)];
    /* What the worker sent there before the end of the stream is there. */
    if (stream->shm_poll)
        cw_worker_stream_on_socket(stream);
    if (!stream->stream) /* It has failed by that. */
        return;
    if (code == 0)
        msg = "it has closed the stream";
    cw_short_reason(stream->address, msg && *msg ? msg : cw_err_text(code), why, sizeof(why));
    stream_down(stream, why);
}

/* Closes the connection, because the worker has sent something invalid. */
static void stream_fail(struct cw_worker_stream *stream, const struct cw_err *err)
{
    cw_log_warn("client", "worker %s: %s", stream->address, err->msg);
    if (err->code == CW_E_NOMEM)
        stream->conf.events->no_memory(stream->conf.arg, err);
    stream_down(stream, err->msg);
}

static void stream_open(void *arg)
{
    static const struct cw_stream_cb callbacks = {on_message, NULL, on_close};
    struct cw_worker_stream *stream = arg;
    stream->channel = cw_channel_open_to(stream->conf.rpc, stream->address, CW_ROLE_WORKER);
    stream->stream =
        cw_channel_stream(stream->channel, "/cachew.v1.Data/Fetch", &callbacks, stream);
    send_hello(stream);
}

struct cw_worker_stream *cw_worker_stream_new(const struct cw_worker_stream_conf *conf)
{
    struct cw_worker_stream *stream = CW_NEW(struct cw_worker_stream);
    stream->conf = *conf;
    stream->address = cw_mem_strdup(conf->worker_address);
    stream->job_id = cw_mem_strdup(conf->job_id);
    stream->listed = true;
    stream->want_shm =
        conf->shm && *conf->host_id && cw_str_eq(conf->worker_host_id, conf->host_id);
    stream->shm_fd = -1;
    stream->credit = cw_credit_new(conf->limit);
    stream->backoff_ms = BACKOFF_MIN_MS;
    stream->retry = cw_timer_new(conf->loop, stream_open, stream);
    stream_open(stream);
    return stream;
}

void cw_worker_stream_close(struct cw_worker_stream *stream)
{
    cw_stream_free(stream->stream);
    cw_channel_close(stream->channel);
    cw_worker_stream_shm_stop(stream);
    cw_timer_free(stream->retry);
    cw_credit_unref(stream->credit);
    cw_mem_free(stream->address);
    cw_mem_free(stream->job_id);
    cw_mem_free(stream);
}

uint64_t cw_worker_stream_worker(const struct cw_worker_stream *stream)
{
    return stream->conf.worker_id;
}

const char *cw_worker_stream_address(const struct cw_worker_stream *stream)
{
    return stream->address;
}

bool cw_worker_stream_is_up(const struct cw_worker_stream *stream)
{
    return stream->up;
}

const char *cw_worker_stream_why_lost(const struct cw_worker_stream *stream)
{
    return stream->was_lost && !stream->up ? stream->why : NULL;
}

void cw_worker_stream_set_listed(struct cw_worker_stream *stream, bool listed)
{
    if (listed && !stream->listed && !stream->stream)
        cw_timer_start(stream->retry, stream->backoff_ms, 0);
    else if (!listed && !stream->up)
        cw_timer_stop(stream->retry);
    stream->listed = listed;
}

bool cw_worker_stream_is_over(const struct cw_worker_stream *stream)
{
    return !stream->listed && !stream->up;
}
