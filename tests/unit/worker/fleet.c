/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/worker/fleet.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "worker/model/state.h"

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
    while (i < f->counts_n &&
           (strcmp(f->counts[i].job, c->job_id) != 0 || strcmp(f->counts[i].node, c->node) != 0))
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

void fleet_send(struct fleet *f, Cachew__V1__WorkerCommand *m)
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
        f->held_jobs = 0;
        for (size_t i = 0; i < m->hello->n_held; i++) {
            f->held_jobs += m->hello->held[i]->n_items == 0;
            assert_int_equal(cw_wire_set_from(m->hello->held[i]->items, m->hello->held[i]->n_items,
                                              &f->held, NULL),
                             0);
        }
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
            assert_int_equal(cw_wire_set_from(m->progress->done[i]->items,
                                              m->progress->done[i]->n_items, &f->done, NULL),
                             0);
            f->skipped += m->progress->done[i]->skipped;
            f->shared += m->progress->done[i]->shared;
        }
        take_cache_report(f, m->progress);
        break;
    case CACHEW__V1__WORKER_MESSAGE__KIND_HAND_BACK:
        assert_int_equal(
            cw_wire_set_from(m->hand_back->items, m->hand_back->n_items, &f->handed_back, NULL), 0);
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
        snprintf(f->relaxed, sizeof(f->relaxed), "%s", m->prepared->relaxed);
        f->relaxed_refused = m->prepared->relaxed_refused;
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
    Cachew__V1__WorkerMessage *m = (Cachew__V1__WorkerMessage *)cw_wire_unpack(
        &cachew__v1__worker_message__descriptor, msg, &err);
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
    static const struct cw_stream_cb cb = {.on_message = on_worker_message,
                                           .on_close = on_worker_close};
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

bool fleet_has_store(const struct fleet *f)
{
    const struct cw_wcache_store *store = f->worker->cache.store;
    if (!f->store[0] || !store)
        return !f->store[0] && !store;
    return strcmp(store->url, f->store) == 0 && !store->opening;
}

void fleet_up_with_store(struct fleet *f, const struct cw_worker_options *options,
                         const char *store)
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
    cw_server_add(
        f->server,
        &(struct cw_method){.path = "/cachew.v1.Fleet/Attach", .stream = handle_attach, .arg = f});
    assert_int_equal(
        cw_server_listen(f->server, "127.0.0.1:0", f->address, sizeof(f->address), &err), 0);
    cw_server_start(f->server);
    struct cw_worker_options o = options ? *options : (struct cw_worker_options){0};
    o.dispatcher = f->address;
    o.listen = "127.0.0.1:0";
    o.threads = 2;
    assert_int_equal(cw_worker_new(f->loop, &o, &f->worker, &err), 0);
    fleet_wait(f, f->hellos == 1 && fleet_has_store(f)); /* else items might begin without it */
}

void fleet_up(struct fleet *f, const struct cw_worker_options *options)
{
    fleet_up_with_store(f, options, "");
}

static void on_stopped(void *arg)
{
    struct fleet *f = arg;
    f->server = NULL;
    cw_loop_stop(f->loop);
}

void fleet_down(struct fleet *f)
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

Cachew__V1__Graph *graph_message(const char *json)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    if (cw_graph_parse(json, strlen(json), "test", &graph, &err) != 0)
        fail_msg("%s", err.msg);
    Cachew__V1__Graph *m = cw_wire_graph_to(graph);
    cw_graph_unref(graph);
    return m;
}

void fleet_prepare(struct fleet *f, const char *job_id, const char *json)
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

void fleet_job_cached(struct fleet *f, const char *job_id, const char *json, uint32_t consumers,
                      bool to_all, const char *tenant, Cachew__V1__CacheUse *use /* NULL = none */)
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

void fleet_job(struct fleet *f, const char *job_id, const char *json, uint32_t consumers,
               bool to_all)
{
    fleet_job_cached(f, job_id, json, consumers, to_all, "", NULL);
}

void fleet_lease(struct fleet *f, const char *job_id, uint64_t epoch, uint64_t lo, uint64_t hi)
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
    lease.client_id = f->lease_client;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_LEASE;
    c.lease = &lease;
    fleet_send(f, &c);
}

void fleet_revoke(struct fleet *f, const char *job_id, uint64_t epoch, uint64_t lo, uint64_t hi)
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

void fleet_part(struct fleet *f, const char *job_id, double part)
{
    char id[64];
    snprintf(id, sizeof(id), "%s", job_id);
    Cachew__V1__JobPart row = CACHEW__V1__JOB_PART__INIT, *rows[] = {&row};
    row.job_id = id;
    row.part = part;
    Cachew__V1__Parts parts = CACHEW__V1__PARTS__INIT;
    parts.parts = rows;
    parts.n_parts = 1;
    Cachew__V1__WorkerCommand c = CACHEW__V1__WORKER_COMMAND__INIT;
    c.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PARTS;
    c.parts = &parts;
    fleet_send(f, &c);
}

void fleet_forget(struct fleet *f, const char *job_id)
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
