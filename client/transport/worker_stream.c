/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a link, and what is said to the worker. */
#include "client/transport/worker_stream_int.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "client/session/session.h"
#include "client/transport/shm_release_queue.h"

#define BACKOFF_MIN_MS 50
#define BACKOFF_MAX_MS 2000

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
    hello.credit = cw_credit_begin(&link->credit);
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
        cw_credit_back(&link->credit, cost);
}

void cw_link_flush(struct cw_link *link, uint64_t held, bool all)
{
    if (!link->up)
        return;
    uint64_t bytes = cw_credit_grant(&link->credit, held, all);
    bool enough = bytes > 0;
    if (enough)
        send_credit(link, bytes);
    if (link->slots) /* what is free again for credit is so in the worker's memory as well */
        send_slots(link, all || enough);
}

void cw_link_retell(struct cw_link *link)
{
    if (!link->untold && !link->was_lost)
        return;
    link->untold =
        !cw_session_worker_lost(link->session, link->worker_id, "the stream to it broke");
    if (!link->was_lost)
        cw_session_worker_found(link->session, link->worker_id);
}

void cw_link_overdraw(struct cw_link *link)
{
    if (link->up)
        send_credit(link, cw_credit_overdraw(&link->credit));
}

void cw_link_set_limit(struct cw_link *link, uint64_t bytes)
{
    link->credit.limit = bytes;
}

static void link_fail(struct cw_link *link, const struct cw_err *err);

static void on_welcome(struct cw_link *link, const Cachew__V1__DataWelcome *welcome)
{
    link->up = true;
    link->backoff_ms = BACKOFF_MIN_MS;
    cw_link_shm_start(link, welcome);
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
    struct cw_link_payload payload = {msg, data.payload_offset, data.payload_len};
    for (size_t i = 0; rc == 0 && i < data.head->n_outputs; i++)
        rc = cw_link_take(link, data.head->outputs[i], &payload, &err);
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
    cw_link_shm_stop(link);
    link->up = false;
    /* Every attempt that fails is told, so that the worker gets no leases for as long as we
     * cannot reach it. */
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
    cw_log_debug("client", "stream to worker %s ended: %s: %s", link->address, cw_err_name(code),
                 msg ? msg : "");
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
    link->channel = cw_channel_open(link->job->client->rpc, link->address);
    link->stream = cw_channel_stream(link->channel, "/cachew.v1.Data/Fetch", &callbacks, link);
    send_hello(link);
}

struct cw_link *cw_link_new(struct cw_session *session, uint64_t worker_id, const char *address,
                            const char *host_id, uint64_t limit)
{
    struct cw_link *link = CW_NEW(struct cw_link);
    struct cachew_job *job = cw_session_job(session);
    link->refs = 1;
    link->listed = true;
    link->session = session;
    link->job = job;
    link->worker_id = worker_id;
    link->address = cw_mem_strdup(address);
    link->want_shm =
        job->client->shm && *job->client->host_id && cw_str_eq(host_id, job->client->host_id);
    link->shm_fd = -1;
    link->credit.limit = limit;
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
    cw_link_shm_stop(link);
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
