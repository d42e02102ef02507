/* SPDX-License-Identifier: Apache-2.0 */
/* A dispatcher and a client made of nothing but streams, on the loop of the worker they test. */
#ifndef CW_TESTS_UNIT_WORKER_FLEET_H
#define CW_TESTS_UNIT_WORKER_FLEET_H

#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "cachew/v1/data.pb-c.h"
#include "cachew/v1/fleet.pb-c.h"
#include "rpc/rpc.h"
#include "shm/shm.h"
#include "wire/wire.h"
#include "worker/worker.h"

#define DEADLINE_MS 60000
#define ITEMS_MAX 4096

#define CHUNKS_MAX 256
#define NODES_MAX 16

struct fleet;
struct client {
    struct fleet *fleet;
    struct cw_channel *channel;
    struct cw_stream *stream;
    bool closed;
    int close_code;
    bool welcomed;
    size_t outputs, duplicates, disorder, slots_used;
    int64_t last; /* epoch * ITEMS_MAX + item */
    unsigned char seen[ITEMS_MAX];
    uint64_t first_value[ITEMS_MAX]; /* first 8 bytes of each output */
    uint64_t bytes;
    int shm_fd;
    struct cw_shm_view *view;
    uint64_t slots[64];
    size_t slots_n;
    bool auto_release;
};
struct fleet {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    char address[300];
    struct cw_timer *tick;
    struct cw_stream *stream; /* to the worker, or NULL */
    uint64_t generation;
    bool welcome; /* answer hellos */
    struct cw_worker *worker;
    size_t hellos;
    struct cw_set held; /* of the last hello */
    char host_id[128];
    struct cw_set done, handed_back, failed;
    bool failed_element;
    char failed_error[1024];
    bool draining, drained;
    size_t prepared;
    int prepared_code;
    char prepared_error[1024];
    struct cw_buf *manifest;
    uint64_t items;
    uint64_t leases;
    uint64_t skipped, shared;
    /* the cache */
    char store[300];
    Cachew__V1__PlanInfo *info; /* of the last that was prepared */
    char *chunks[CHUNKS_MAX];   /* told to be written */
    size_t chunks_n, written_n, gone_n;
    uint64_t written_records;
    uint64_t hits, misses, put, written, records; /* of the last counts of any key */
    bool away;
    char away_why[1024];
    struct {
        char job[64], node[64];
        uint64_t elements, hits;
    } counts[NODES_MAX];
    size_t counts_n;
};

static void take_cache_event(struct fleet *f, const Cachew__V1__CacheEvent *e)
{
    f->gone_n += e->kind != CACHEW__V1__CACHE_EVENT__KIND__WRITTEN;
    if (e->kind != CACHEW__V1__CACHE_EVENT__KIND__WRITTEN)
        return;
    f->written_n++;
    for (size_t i = 0; i < f->chunks_n; i++)
        if (strcmp(f->chunks[i], e->name) == 0)
            return;
    assert_true(f->chunks_n < CHUNKS_MAX);
    f->chunks[f->chunks_n++] = cw_mem_strdup(e->name);
    f->written_records += e->records;
}

static void take_node_counts(struct fleet *f, const Cachew__V1__NodeCounts *c)
{
    size_t i = 0;
    while (i < f->counts_n && (strcmp(f->counts[i].job, c->job_id) != 0 || strcmp(f->counts[i].node, c->node) != 0))
        i++;
    assert_true(i < NODES_MAX);
    f->counts_n = CW_MAX(f->counts_n, i + 1);
    snprintf(f->counts[i].job, sizeof(f->counts[i].job), "%s", c->job_id);
    snprintf(f->counts[i].node, sizeof(f->counts[i].node), "%s", c->node);
    f->counts[i].elements = c->elements;
    f->counts[i].hits = c->hits;
}

static void take_cache_report(struct fleet *f, const Cachew__V1__Progress *p)
{
    for (size_t i = 0; i < p->n_cache_events; i++)
        take_cache_event(f, p->cache_events[i]);
    for (size_t i = 0; i < p->n_cache; i++) {
        f->hits = p->cache[i]->hits;
        f->misses = p->cache[i]->misses;
        f->put = p->cache[i]->put;
        f->written = p->cache[i]->written;
        f->records = p->cache[i]->records;
    }
    for (size_t i = 0; i < p->n_counts; i++)
        take_node_counts(f, p->counts[i]);
    if (p->store) {
        f->away = p->store->away;
        snprintf(f->away_why, sizeof(f->away_why), "%s", p->store->why);
    }
}

static void fleet_send(struct fleet *f, Cachew__V1__WorkerCommand *m)
{
    assert_non_null(f->stream);
    m->generation = f->generation;
    cw_wire_send(f->stream, &m->base);
}

static void take_worker_message(struct fleet *f, const Cachew__V1__WorkerMessage *m)
{
    switch (m->kind_case) {
    case CACHEW__V1__WORKER_MESSAGE__KIND_HELLO: {
        f->hellos++;
        snprintf(f->host_id, sizeof(f->host_id), "%s", m->hello->host_id);
        cw_set_clear(&f->held);
        for (size_t i = 0; i < m->hello->n_held; i++)
            assert_int_equal(cw_wire_set_from(m->hello->held[i]->items, m->hello->held[i]->n_items, &f->held, NULL), 0);
        if (f->welcome) {
            Cachew__V1__WorkerWelcome welcome = CACHEW__V1__WORKER_WELCOME__INIT;
            Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
            Cachew__V1__CacheStore store = CACHEW__V1__CACHE_STORE__INIT;
            welcome.heartbeat_ms = 50;
            store.url = f->store;
            if (f->store[0])
                welcome.store = &store;
            c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_WELCOME;
            c.welcome = &welcome;
            fleet_send(f, &c);
        }
        break;
    }
    case CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS:
        for (size_t i = 0; i < m->progress->n_done; i++) {
            assert_int_equal(cw_wire_set_from(m->progress->done[i]->items, m->progress->done[i]->n_items, &f->done, NULL), 0);
            f->skipped += m->progress->done[i]->skipped;
            f->shared += m->progress->done[i]->shared;
        }
        take_cache_report(f, m->progress);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_HAND_BACK:
        assert_int_equal(cw_wire_set_from(m->hand_back->items, m->hand_back->n_items, &f->handed_back, NULL), 0);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_FAILED:
        cw_set_add(&f->failed, m->failed->item, m->failed->item + 1);
        f->failed_element = m->failed->element;
        snprintf(f->failed_error, sizeof(f->failed_error), "%s", m->failed->error);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED:
        f->prepared++;
        f->prepared_code = m->prepared->code;
        snprintf(f->prepared_error, sizeof(f->prepared_error), "%s", m->prepared->error);
        cw_buf_unref(f->manifest);
        f->manifest = cw_buf_copy(m->prepared->manifest.data, m->prepared->manifest.len);
        f->items = m->prepared->info ? m->prepared->info->items : 0;
        if (f->info)
            cachew__v1__plan_info__free_unpacked(f->info, NULL);
        f->info = NULL;
        if (m->prepared->info) {
            struct cw_buf *buf = cw_wire_pack(&m->prepared->info->base);
            f->info = cachew__v1__plan_info__unpack(NULL, buf->len, buf->data);
            cw_buf_unref(buf);
        }
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_DRAINING:
        f->draining = true;
        break;
    default:
        fail_msg("a message without a kind");
    }
}

static void on_worker_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_err err = {0};
    Cachew__V1__WorkerMessage *m = (Cachew__V1__WorkerMessage *)cw_wire_unpack(&cachew__v1__worker_message__descriptor, msg, &err);
    assert_non_null(m);
    take_worker_message(arg, m);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

static void on_worker_close(void *arg, int code, const char *msg)
{
    (void)code;
    (void)msg;
    struct fleet *f = arg;
    cw_stream_free(f->stream);
    f->stream = NULL;
}

static void handle_attach(void *arg, struct cw_stream *stream)
{
    static const struct cw_stream_cb cb = {.on_message = on_worker_message, .on_close = on_worker_close};
    struct fleet *f = arg;
    if (f->stream)
        cw_stream_free(f->stream);
    f->stream = stream;
    cw_stream_accept(stream, &cb, f);
}

static void on_tick(void *arg)
{
    cw_loop_stop(arg);
}

/* Runs the loop until the condition holds. */
#define fleet_wait(f, condition)                                                   \
    do {                                                                           \
        int64_t deadline_ = cw_clock_ms() + DEADLINE_MS;                           \
        cw_timer_start((f)->tick, 1, 1);                                           \
        while (!(condition)) {                                                     \
            if (cw_clock_ms() > deadline_)                                         \
                fail_msg("waited in vain for %s", #condition);                     \
            cw_loop_run((f)->loop);                                                \
        }                                                                          \
        cw_timer_stop((f)->tick);                                                  \
    } while (0)

static void fleet_up_with_store(struct fleet *f, const struct cw_worker_options *options, const char *store)
{
    struct cw_err err = {0};
    memset(f, 0, sizeof(*f));
    snprintf(f->store, sizeof(f->store), "%s", store);
    f->generation = 5;
    f->welcome = true;
    f->loop = cw_loop_new();
    f->rpc = cw_rpc_new(f->loop);
    f->tick = cw_timer_new(f->loop, on_tick, f->loop);
    f->server = cw_server_new(f->rpc);
    cw_server_add(f->server, &(struct cw_method){.path = "/cachew.v1.Fleet/Attach", .stream = handle_attach, .arg = f});
    assert_int_equal(cw_server_listen(f->server, "127.0.0.1:0", f->address, sizeof(f->address), &err), 0);
    cw_server_start(f->server);
    struct cw_worker_options o = options ? *options : (struct cw_worker_options){0};
    o.dispatcher = f->address;
    o.listen = "127.0.0.1:0";
    o.threads = 2;
    assert_int_equal(cw_worker_new(f->loop, &o, &f->worker, &err), 0);
    fleet_wait(f, f->hellos == 1);
}

static inline void fleet_up(struct fleet *f, const struct cw_worker_options *options)
{
    fleet_up_with_store(f, options, "");
}

static void on_stopped(void *arg)
{
    struct fleet *f = arg;
    f->server = NULL;
    cw_loop_stop(f->loop);
}

static void fleet_down(struct fleet *f)
{
    cw_worker_free(f->worker);
    if (f->stream)
        cw_stream_free(f->stream);
    f->stream = NULL;
    cw_server_stop(f->server, 0, on_stopped, f);
    while (f->server)
        cw_loop_run(f->loop);
    cw_timer_free(f->tick);
    cw_rpc_free(f->rpc);
    cw_loop_free(f->loop);
    cw_set_fini(&f->held);
    cw_set_fini(&f->done);
    cw_set_fini(&f->handed_back);
    cw_set_fini(&f->failed);
    cw_buf_unref(f->manifest);
    if (f->info)
        cachew__v1__plan_info__free_unpacked(f->info, NULL);
    for (size_t i = 0; i < f->chunks_n; i++)
        cw_mem_free(f->chunks[i]);
}

static Cachew__V1__Graph *graph_message(const char *json)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    if (cw_graph_parse(json, strlen(json), "test", &graph, &err) != 0)
        fail_msg("%s", err.msg);
    Cachew__V1__Graph *m = cw_wire_graph_to(graph);
    cw_graph_unref(graph);
    return m;
}

static void fleet_prepare(struct fleet *f, const char *job_id, const char *json)
{
    size_t before = f->prepared;
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__Prepare prepare = CACHEW__V1__PREPARE__INIT;
    prepare.job_id = id;
    prepare.graph = graph_message(json);
    prepare.seed = 1;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PREPARE;
    c.prepare = &prepare;
    fleet_send(f, &c);
    cw_wire_graph_free(prepare.graph);
    fleet_wait(f, f->prepared > before);
}

/* Prepares the job and gives it to the worker: job "a" to the one that has prepared it, others as if that was another. */
static void fleet_job_cached(struct fleet *f, const char *job_id, const char *json, uint32_t consumers, bool to_all, const char *tenant,
                             Cachew__V1__CacheUse *use /* NULL = none */)
{
    fleet_prepare(f, strcmp(job_id, "a") == 0 ? job_id : "elsewhere", json);
    if (f->prepared_code != 0)
        fail_msg("%s", f->prepared_error);
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    spec.job_id = id;
    spec.graph = graph_message(json);
    spec.seed = 1;
    spec.consumers = consumers;
    spec.each_item_to_all = to_all;
    char tenant_copy[64];
    snprintf(tenant_copy, sizeof(tenant_copy), "%s", tenant);
    spec.tenant = tenant_copy;
    spec.cache = &use;
    spec.n_cache = use != NULL;
    spec.manifest = (ProtobufCBinaryData){f->manifest->len, f->manifest->data};
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_JOB;
    c.job = &spec;
    fleet_send(f, &c);
    cw_wire_graph_free(spec.graph);
}

static inline void fleet_job(struct fleet *f, const char *job_id, const char *json, uint32_t consumers, bool to_all)
{
    fleet_job_cached(f, job_id, json, consumers, to_all, "", NULL);
}

static void fleet_lease(struct fleet *f, const char *job_id, uint64_t epoch, uint64_t lo, uint64_t hi)
{
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__LeaseId lease_id = CACHEW__V1__LEASE_ID__INIT;
    lease_id.generation = f->generation;
    lease_id.counter = ++f->leases;
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *list = &items;
    items.lo = lo;
    items.hi = hi;
    Cachew__V1__Lease lease = CACHEW__V1__LEASE__INIT;
    lease.lease = &lease_id;
    lease.job_id = id;
    lease.epoch = epoch;
    lease.items = &list;
    lease.n_items = 1;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_LEASE;
    c.lease = &lease;
    fleet_send(f, &c);
}

static void fleet_revoke(struct fleet *f, const char *job_id, uint64_t epoch, uint64_t lo, uint64_t hi)
{
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__Interval items = CACHEW__V1__INTERVAL__INIT, *list = &items;
    items.lo = lo;
    items.hi = hi;
    Cachew__V1__Revoke revoke = CACHEW__V1__REVOKE__INIT;
    revoke.job_id = id;
    revoke.epoch = epoch;
    revoke.items = &list;
    revoke.n_items = 1;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_REVOKE;
    c.revoke = &revoke;
    fleet_send(f, &c);
}

static inline void fleet_forget(struct fleet *f, const char *job_id)
{
    char id[64], why[] = "test";
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__Forget forget = CACHEW__V1__FORGET__INIT;
    forget.job_id = id;
    forget.reason = why;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_FORGET;
    c.forget = &forget;
    fleet_send(f, &c);
}

/* ---- client ---- */

static void client_send(struct client *c, Cachew__V1__FetchMessage *m)
{
    cw_wire_send(c->stream, &m->base);
}

static inline void client_credit(struct client *c, uint64_t bytes)
{
    Cachew__V1__Credit credit = CACHEW__V1__CREDIT__INIT;
    credit.bytes = bytes;
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_CREDIT;
    m.credit = &credit;
    client_send(c, &m);
}

static void client_release(struct client *c)
{
    Cachew__V1__Release release = CACHEW__V1__RELEASE__INIT;
    release.slots = c->slots;
    release.n_slots = c->slots_n;
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_RELEASE;
    m.release = &release;
    client_send(c, &m);
    c->slots_n = 0;
}

static void on_slot_released(void *arg, uint64_t slot)
{
    (void)arg;
    (void)slot;
}

/* The descriptor may come after the output: it is waited for. */
static uint64_t read_slot(struct client *c, uint64_t slot, size_t bytes)
{
    struct cw_buf *buf = NULL;
    struct cw_err err = {0};
    while (cw_shm_view_buf(c->view, slot, bytes, on_slot_released, NULL, &buf, &err) == CW_E_NOT_FOUND) {
        uint64_t id = 0;
        size_t cap = 0;
        int memfd = -1;
        struct pollfd p = {.fd = c->shm_fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, DEADLINE_MS), 1);
        assert_int_equal(cw_shm_recv_fd(c->shm_fd, &id, &cap, &memfd, &err), 0);
        assert_int_equal(cw_shm_view_add(c->view, id, cap, memfd, &err), 0);
    }
    uint64_t value;
    memcpy(&value, buf->data, sizeof(value));
    cw_buf_unref(buf);
    c->slots_used++;
    assert_true(c->slots_n < CW_ARRAY_LEN(c->slots));
    c->slots[c->slots_n++] = slot;
    return value;
}

static void take_outputs(struct client *c, struct cw_rpc_msg *msg, const struct cw_wire_data *data)
{
    size_t at = data->payload_offset;
    for (size_t i = 0; i < data->head->n_outputs; i++) {
        const Cachew__V1__Output *o = data->head->outputs[i];
        assert_true(o->item < ITEMS_MAX);
        int64_t order = (int64_t)(o->epoch * ITEMS_MAX + o->item);
        c->disorder += order < c->last;
        c->last = order;
        c->duplicates += c->seen[o->item] != 0;
        c->seen[o->item] = 1;
        c->outputs++;
        c->bytes += o->payload_bytes;
        if (o->slot) {
            c->first_value[o->item] = read_slot(c, o->slot, o->payload_bytes);
        } else {
            if (o->payload_bytes >= sizeof(uint64_t))
                assert_int_equal(cw_rpc_msg_copy(msg, at, &c->first_value[o->item], sizeof(uint64_t)), 0);
            at += o->payload_bytes;
        }
    }
    assert_int_equal(at, data->payload_offset + data->payload_len);
    if (c->auto_release && c->slots_n > 0)
        client_release(c);
}

static void take_welcome(struct client *c, const Cachew__V1__DataWelcome *welcome)
{
    c->welcomed = true;
    if (welcome->shm_name[0] == '\0')
        return;
    struct cw_err err = {0};
    Cachew__V1__ShmReady ready = CACHEW__V1__SHM_READY__INIT;
    ready.ok = cw_shm_connect(welcome->shm_name, welcome->shm_token, &c->shm_fd, &err) == 0;
    assert_true(ready.ok);
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_SHM_READY;
    m.shm_ready = &ready;
    client_send(c, &m);
}

static void on_data(void *arg, struct cw_rpc_msg *msg)
{
    struct client *c = arg;
    struct cw_wire_data data;
    struct cw_err err = {0};
    if (cw_wire_data_parse(msg, &data, &err) != 0)
        fail_msg("%s", err.msg);
    if (data.head->welcome)
        take_welcome(c, data.head->welcome);
    take_outputs(c, msg, &data);
    for (size_t i = 0; data.head->slots_gone && i < data.head->slots_gone->n_slots; i++)
        cw_shm_view_drop(c->view, data.head->slots_gone->slots[i]);
    cw_wire_data_fini(&data);
}

static void on_data_close(void *arg, int code, const char *msg)
{
    (void)msg;
    struct client *c = arg;
    c->closed = true;
    c->close_code = code;
}

static void client_open(struct client *c, struct fleet *f)
{
    static const struct cw_stream_cb cb = {.on_message = on_data, .on_close = on_data_close};
    memset(c, 0, sizeof(*c));
    c->fleet = f;
    c->shm_fd = -1;
    c->last = -1;
    c->view = cw_shm_view_new();
    c->channel = cw_channel_open(f->rpc, cw_worker_address(f->worker));
    c->stream = cw_channel_stream(c->channel, "/cachew.v1.Data/Fetch", &cb, c);
}

static void client_hello(struct client *c, const char *job_id, uint32_t consumer, uint64_t credit, bool shm)
{
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__FetchHello hello = CACHEW__V1__FETCH_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.job_id = id;
    hello.client_id = 77;
    hello.consumer = consumer;
    hello.host_id = c->fleet->host_id;
    hello.want_shm = shm;
    hello.credit = credit;
    Cachew__V1__FetchMessage m = CACHEW__V1__FETCH_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_HELLO;
    m.hello = &hello;
    client_send(c, &m);
}

static void client_close(struct client *c)
{
    cw_stream_free(c->stream);
    cw_channel_close(c->channel);
    cw_shm_view_free(c->view);
    if (c->shm_fd >= 0)
        close(c->shm_fd);
}

#endif
