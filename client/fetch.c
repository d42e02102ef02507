/* SPDX-License-Identifier: Apache-2.0 */
#include "client/fetch.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "client/deliver.h"
#include "client/session.h"
#include "client/slots.h"
#include "shm/shm.h"
#include "wire/wire.h"

#define BACKOFF_MIN_MS 50
#define BACKOFF_MAX_MS 2000
#define PROMPT_SLOT_BYTES (256u << 10) /* slots of this size and up go back at once: they hold the worker's memory */

struct cw_link {
    int refs;
    struct cw_session *session; /* NULL once closed */
    struct cachew_job *job;
    uint64_t worker_id;
    char *address;
    bool want_shm;
    struct cw_channel *channel;
    struct cw_stream *stream;
    struct cw_timer *retry;
    int64_t backoff_ms;
    bool up;       /* the worker has answered on this connection */
    bool was_lost; /* and not found again */
    bool listed;   /* the dispatcher names the worker */
    bool untold;   /* that it was lost could not be told */
    uint32_t conn; /* number of the connection */
    uint64_t limit;
    int64_t granted; /* of this connection: credit out there (less than 0 when an output was larger than it), and bytes buffered here */
    struct cw_shm_view *view;
    int shm_fd;
    struct cw_slots *slots;
};

static void link_open(void *arg);

/* ---- messages to the worker ---- */

static void send_hello(struct cw_link *link)
{
    const struct cachew_job *job = link->job;
    Cachew__V1__FetchHello hello = CACHEW__V1__FETCH_HELLO__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.job_id = job->id;
    hello.client_id = cw_session_client_id(link->session);
    hello.consumer = job->consumer;
    hello.host_id = job->client->host_id;
    hello.want_shm = link->want_shm;
    hello.credit = link->limit;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    cw_wire_send(link->stream, &message.base);
}

static void send_credit(struct cw_link *link, uint64_t bytes)
{
    Cachew__V1__Credit credit = CACHEW__V1__CREDIT__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    credit.bytes = bytes;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_CREDIT;
    message.credit = &credit;
    cw_wire_send(link->stream, &message.base);
    link->granted += (int64_t)bytes;
}

static void send_ready(struct cw_link *link, bool ok)
{
    Cachew__V1__ShmReady ready = CACHEW__V1__SHM_READY__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    ready.ok = ok;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
    message.shm_ready = &ready;
    cw_wire_send(link->stream, &message.base);
}

static void send_slots(struct cw_link *link, bool all)
{
    uint64_t *back = NULL;
    size_t n = cw_slots_take(link->slots, all, &back);
    if (n == 0)
        return;
    Cachew__V1__Release release = CACHEW__V1__RELEASE__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    release.n_slots = n;
    release.slots = back;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_RELEASE;
    message.release = &release;
    cw_wire_send(link->stream, &message.base);
    cw_mem_free(back);
}

void cw_link_give_back(struct cw_link *link, uint32_t conn, uint64_t cost)
{
    if (conn == link->conn)
        link->granted -= (int64_t)cost;
}

void cw_link_flush(struct cw_link *link, bool all)
{
    if (!link->up)
        return;
    uint64_t room = link->granted < (int64_t)link->limit ? (uint64_t)((int64_t)link->limit - link->granted) : 0;
    if (room >= link->limit / 4 || (all && room > 0))
        send_credit(link, room);
    if (link->slots)
        send_slots(link, all);
}

void cw_link_retell(struct cw_link *link)
{
    if (!link->untold && !link->was_lost)
        return;
    link->untold = !cw_session_worker_lost(link->session, link->worker_id, "the stream to it broke");
    if (!link->was_lost)
        cw_session_worker_found(link->session, link->worker_id);
}

void cw_link_overdraw(struct cw_link *link)
{
    if (link->up)
        send_credit(link, link->limit / 4 + 1);
}

void cw_link_set_limit(struct cw_link *link, uint64_t bytes)
{
    link->limit = bytes;
}

/* ---- shared memory ---- */

static void shm_stop(struct cw_link *link)
{
    cw_shm_view_free(link->view);
    link->view = NULL;
    cw_slots_close(link->slots);
    link->slots = NULL;
    if (link->shm_fd >= 0)
        close(link->shm_fd);
    link->shm_fd = -1;
}

static void shm_start(struct cw_link *link, const Cachew__V1__DataWelcome *welcome)
{
    struct cw_err err = {0};
    if (!welcome->shm_name || !*welcome->shm_name)
        return;
    bool ok = link->want_shm && cw_shm_connect(welcome->shm_name, welcome->shm_token, &link->shm_fd, &err) == 0;
    if (ok) {
        link->view = cw_shm_view_new();
        link->slots = cw_slots_new(link->job);
    } else {
        link->shm_fd = -1;
        if (link->want_shm)
            cw_log_debug("client", "no shared memory with worker %s: %s", link->address, err.msg);
    }
    send_ready(link, ok);
}

/* Takes in the descriptors that have come. A slot's descriptor is sent before the output that names it, so it is there by then. */
static int shm_take_fds(struct cw_link *link, struct cw_err *err)
{
    for (;;) {
        uint64_t slot;
        size_t cap;
        int memfd;
        int rc = cw_shm_recv_fd(link->shm_fd, &slot, &cap, &memfd, err);
        if (rc == CW_E_AGAIN)
            return 0;
        if (rc == 0)
            rc = cw_shm_view_add(link->view, slot, cap, memfd, err);
        if (rc != 0)
            return rc;
    }
}

static int shm_buf(struct cw_link *link, uint64_t slot, size_t bytes, struct cw_buf **ret_buf, struct cw_err *err)
{
    if (!link->view)
        return cw_err_set(err, CW_E_CORRUPT, "worker %s sent a shared-memory slot without shared memory", link->address);
    struct cw_slots *slots = cw_slots_ref(link->slots);
    int rc = cw_shm_view_buf(link->view, slot, bytes, cw_slots_released, slots, ret_buf, err);
    if (rc == CW_E_NOT_FOUND) {
        rc = shm_take_fds(link, err);
        if (rc == 0)
            rc = cw_shm_view_buf(link->view, slot, bytes, cw_slots_released, slots, ret_buf, err);
    }
    if (rc != 0)
        cw_slots_unref(slots);
    else if (bytes >= PROMPT_SLOT_BYTES)
        cw_slots_set_prompt(slots);
    return rc;
}

/* ---- outputs ---- */

struct payload {
    struct cw_rpc_msg *msg;
    size_t at, left;
};

/* The bytes of an output by gRPC: one copy into aligned memory; in a sparse pipeline none yet (the join copies rows). */
static int take_payload(struct cw_link *link, struct cw_item *item, struct payload *payload, size_t bytes, struct cw_err *err)
{
    if (bytes > payload->left)
        return cw_err_set(err, CW_E_CORRUPT, "worker %s: message is shorter than its outputs", link->address);
    size_t at = payload->at;
    payload->at += bytes;
    payload->left -= bytes;
    if (bytes == 0)
        return 0;
    if (link->job->sparse) {
        item->msg = cw_rpc_msg_ref(payload->msg);
        item->offset = at;
        return 0;
    }
    item->batch->buf = cw_recvpool_get(link->job->client->pool, bytes);
    if (!item->batch->buf)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a batch of %zu bytes: lower buffer_bytes of the job", bytes);
    atomic_fetch_add_explicit(&link->job->counts.copies, 1, memory_order_relaxed);
    return cw_rpc_msg_copy(payload->msg, at, item->batch->buf->data, bytes);
}

static int take_output(struct cw_link *link, const Cachew__V1__Output *output, struct payload *payload, struct cw_err *err)
{
    struct cw_deliver *deliver = cw_session_deliver(link->session);
    struct cw_item *item = CW_NEW(struct cw_item);
    int rc = cw_wire_output_from(output, &item->batch, err);
    item->link = cw_link_ref(link);
    item->conn = link->conn;
    item->cost = output->payload_bytes;
    if (rc == 0 && output->slot)
        rc = shm_buf(link, output->slot, (size_t)output->payload_bytes, &item->batch->buf, err);
    else if (rc == 0)
        rc = take_payload(link, item, payload, (size_t)output->payload_bytes, err);
    if (rc == 0 && !item->msg)
        rc = cw_batch_validate(item->batch, err);
    if (rc == 0)
        rc = cw_deliver_put(deliver, item, err);
    if (rc == 1) {
        atomic_fetch_add_explicit(output->slot ? &link->job->counts.shm_batches : &link->job->counts.grpc_batches, 1, memory_order_relaxed);
        return 0;
    }
    if (rc == 0) /* a duplicate: its credit is free again at once */
        cw_link_give_back(link, link->conn, item->cost);
    cw_item_free(item);
    return rc;
}

static void link_fail(struct cw_link *link, const struct cw_err *err);

static void on_welcome(struct cw_link *link, const Cachew__V1__DataWelcome *welcome)
{
    link->up = true;
    link->backoff_ms = BACKOFF_MIN_MS;
    shm_start(link, welcome);
    if (link->was_lost)
        cw_session_worker_found(link->session, link->worker_id);
    link->was_lost = false;
    cw_session_count_workers(link->session);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_link *link = arg;
    struct cw_wire_data data = {0};
    struct cw_err err = {0};
    int rc = cw_wire_data_parse(msg, &data, &err);
    if (rc == 0 && data.head->welcome && link->up)
        rc = cw_err_set(&err, CW_E_CORRUPT, "it welcomed this client twice");
    else if (rc == 0 && data.head->welcome)
        on_welcome(link, data.head->welcome);
    struct payload payload = {msg, data.payload_offset, data.payload_len};
    for (size_t i = 0; rc == 0 && i < data.head->n_outputs; i++)
        rc = take_output(link, data.head->outputs[i], &payload, &err);
    if (rc == 0 && data.head->slots_gone && link->view)
        for (size_t i = 0; i < data.head->slots_gone->n_slots; i++)
            cw_shm_view_drop(link->view, data.head->slots_gone->slots[i]);
    size_t outputs = rc == 0 ? data.head->n_outputs : 0;
    cw_wire_data_fini(&data);
    if (rc != 0)
        link_fail(link, &err);
    else if (outputs > 0)
        cw_session_came(link->session);
}

/* ---- life of a link ---- */

static void link_down(struct cw_link *link, const char *why)
{
    cw_stream_free(link->stream);
    link->stream = NULL;
    cw_channel_close(link->channel);
    link->channel = NULL;
    shm_stop(link);
    link->up = false;
    /* Every attempt that fails is told, so that the worker gets no leases for as long as we cannot reach it. */
    link->was_lost = true;
    link->untold = !cw_session_worker_lost(link->session, link->worker_id, why);
    cw_session_count_workers(link->session);
    if (link->listed)
        cw_timer_start(link->retry, link->backoff_ms, 0);
    link->backoff_ms = CW_MIN(2 * link->backoff_ms, BACKOFF_MAX_MS);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_link *link = arg;
    cw_log_debug("client", "stream to worker %s ended: %s: %s", link->address, cw_err_name(code), msg ? msg : "");
    link_down(link, msg && *msg ? msg : cw_err_text(code));
}

/* What the worker sent makes no sense. */
static void link_fail(struct cw_link *link, const struct cw_err *err)
{
    cw_log_warn("client", "worker %s: %s", link->address, err->msg);
    if (err->code == CW_E_NOMEM)
        cw_job_fail(link->job, err);
    link_down(link, err->msg);
}

static void link_open(void *arg)
{
    static const struct cw_stream_cb callbacks = {on_message, NULL, on_close};
    struct cw_link *link = arg;
    link->conn++;
    link->granted = (int64_t)link->limit;
    link->channel = cw_channel_open(link->job->client->rpc, link->address);
    link->stream = cw_channel_stream(link->channel, "/cachew.v1.Data/Fetch", &callbacks, link);
    send_hello(link);
}

struct cw_link *cw_link_new(struct cw_session *session, uint64_t worker_id, const char *address, const char *host_id, uint64_t limit)
{
    struct cw_link *link = CW_NEW(struct cw_link);
    struct cachew_job *job = cw_session_job(session);
    link->refs = 1;
    link->listed = true;
    link->session = session;
    link->job = job;
    link->worker_id = worker_id;
    link->address = cw_mem_strdup(address);
    link->want_shm = job->client->shm && *job->client->host_id && cw_str_eq(host_id, job->client->host_id);
    link->shm_fd = -1;
    link->limit = limit;
    link->backoff_ms = BACKOFF_MIN_MS;
    link->retry = cw_timer_new(job->client->loop, link_open, link);
    link_open(link);
    return link;
}

struct cw_link *cw_link_ref(struct cw_link *link)
{
    link->refs++;
    return link;
}

void cw_link_unref(struct cw_link *link)
{
    if (--link->refs > 0)
        return;
    cw_mem_free(link->address);
    cw_mem_free(link);
}

void cw_link_close(struct cw_link *link)
{
    cw_stream_free(link->stream);
    link->stream = NULL;
    cw_channel_close(link->channel);
    link->channel = NULL;
    shm_stop(link);
    cw_timer_free(link->retry);
    link->retry = NULL;
    link->up = false;
    link->session = NULL;
    cw_link_unref(link);
}

uint64_t cw_link_worker(const struct cw_link *link)
{
    return link->worker_id;
}

const char *cw_link_address(const struct cw_link *link)
{
    return link->address;
}

bool cw_link_is_up(const struct cw_link *link)
{
    return link->up;
}

void cw_link_set_listed(struct cw_link *link, bool listed)
{
    if (listed && !link->listed && !link->stream)
        cw_timer_start(link->retry, link->backoff_ms, 0);
    else if (!listed && !link->up)
        cw_timer_stop(link->retry);
    link->listed = listed;
}

bool cw_link_is_over(const struct cw_link *link)
{
    return !link->listed && !link->up;
}
