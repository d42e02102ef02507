/* SPDX-License-Identifier: Apache-2.0 */
/* A worker without an engine: it says what worker/session/report.c says, when that says it, of batches
 * that come at a steady rate. */
#include "bench/load.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/version.h"
#include "cachew/v1/fleet.pb-c.h"

/* As in worker/session/report.c. */
#define SOON_MS 100
#define DRY_MS 10
#define COUNTS_MS 1000
#define BEAT_MAX_MS 1000
#define THREADS 8

static void send(struct load_worker *w, Cachew__V1__WorkerMessage *message)
{
    message->generation = w->generation;
    cw_wire_send(w->stream, &message->base);
}

static size_t count_works(const struct load_worker *w)
{
    size_t n = 0;
    for (const struct load_work *work = w->works; work; work = work->next)
        n++;
    return n;
}

static void add_done(Cachew__V1__Progress *progress, struct load_work *work)
{
    uint64_t n = cw_set_count(&work->done);
    if (n == 0)
        return;
    Cachew__V1__Progress__Done *d = CW_NEW(Cachew__V1__Progress__Done);
    cachew__v1__progress__done__init(d);
    d->job_id = work->trainer->job_id;
    d->items = cw_wire_set_to(&work->done, &d->n_items);
    d->wall_ns = (uint64_t)((double)n * 1e9 / work->trainer->load->rate);
    d->cpu_ns = d->wall_ns * THREADS;
    d->bytes = n * LOAD_BATCH_BYTES;
    d->elements = n * LOAD_BATCH_ELEMENTS;
    progress->done[progress->n_done++] = d;
    cw_set_clear(&work->done);
}

static void add_counts(Cachew__V1__Progress *progress, const struct load_work *work)
{
    const struct cw_graph *graph = work->trainer->load->graph;
    for (size_t i = 0; i < graph->n; i++) {
        Cachew__V1__NodeCounts *c = CW_NEW(Cachew__V1__NodeCounts);
        cachew__v1__node_counts__init(c);
        c->job_id = work->trainer->job_id;
        c->node = graph->nodes[i].name;
        c->elements = work->elements;
        c->cpu_ns = c->wall_ns = work->elements * 100000;
        c->bytes_out = work->elements * (LOAD_BATCH_BYTES / LOAD_BATCH_ELEMENTS);
        progress->counts[progress->n_counts++] = c;
    }
}

static void report(struct load_worker *w, int64_t now_ms)
{
    size_t works_n = count_works(w);
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    progress.budget_used = works_n * (64u << 20);
    progress.cpu_share = works_n > 0 ? 0.9 : 0.0;
    cw_autofree Cachew__V1__Progress__Done **done =
        CW_NEW_ARRAY(Cachew__V1__Progress__Done *, works_n + 1);
    cw_autofree Cachew__V1__NodeCounts **counts =
        CW_NEW_ARRAY(Cachew__V1__NodeCounts *, works_n * w->load->graph->n + 1);
    progress.done = done;
    progress.counts = counts;
    bool with_counts = now_ms - w->counts_ms >= COUNTS_MS;
    if (with_counts)
        w->counts_ms = now_ms;
    for (struct load_work *work = w->works; work; work = work->next) {
        add_done(&progress, work);
        if (with_counts)
            add_counts(&progress, work);
    }
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PROGRESS;
    m.progress = &progress;
    send(w, &m);
    w->load->reports++;
    w->reported_ms = now_ms;
    w->soon_at_ms = 0;
    for (size_t i = 0; i < progress.n_done; i++) {
        cw_mem_free(done[i]->items);
        cw_mem_free(done[i]);
    }
    for (size_t i = 0; i < progress.n_counts; i++)
        cw_mem_free(counts[i]);
}

static void finish(struct load_work *work, uint64_t n)
{
    while (n-- > 0 && work->todo.n > 0) {
        uint64_t item = work->todo.v[0].lo;
        cw_set_remove(&work->todo, item, item + 1);
        cw_set_add(&work->done, item, item + 1);
        work->elements += LOAD_BATCH_ELEMENTS;
        work->trainer->load->batches++;
        load_trainer_got(work->trainer, item);
    }
}

void load_worker_tick(struct load_worker *w, int64_t now_ms)
{
    if (!w->welcomed)
        return;
    double s = (double)(now_ms - w->worked_ms) / 1e3;
    bool done = false, dry = true;
    uint64_t in_hand = 0;
    w->worked_ms = now_ms;
    for (struct load_work *work = w->works; work; work = work->next) {
        work->credit = work->todo.n > 0 ? work->credit + s * w->load->rate : 0;
        uint64_t n = (uint64_t)work->credit;
        work->credit -= (double)n;
        finish(work, n);
        if (work->trainer->probe && work->done.n > 0) {
            work->asked_ns = cw_clock_ns();
            report(w, now_ms);
        }
        done = done || work->done.n > 0;
        dry = dry && work->todo.n == 0;
        in_hand += cw_set_count(&work->todo);
    }
    double gather_ms = w->gather_ms > 0 ? w->gather_ms : 250;
    if (done && w->soon_at_ms == 0)
        w->soon_at_ms =
            now_ms +
            (int64_t)CW_MAX(CW_MIN((double)in_hand * 500 / w->load->rate, gather_ms), SOON_MS);
    bool soon = w->soon_at_ms > 0 &&
                (now_ms >= w->soon_at_ms || (dry && now_ms - w->reported_ms >= DRY_MS));
    bool beat = now_ms >= w->beat_at_ms && now_ms - w->reported_ms >= w->beat_ms / 4 * 3;
    if (soon || beat)
        report(w, now_ms);
    if (now_ms >= w->beat_at_ms)
        w->beat_at_ms = now_ms + CW_MIN(w->beat_ms, BEAT_MAX_MS);
}

/* ---- what it is told ---- */

static struct load_work *find_work(struct load_worker *w, const char *job_id)
{
    struct load_work *work = w->works;
    while (work && strcmp(work->trainer->job_id, job_id) != 0)
        work = work->next;
    return work;
}

/* The seed of a job is the number of its trainer, who may not know its id yet. */
static void add_work(struct load_worker *w, const Cachew__V1__JobSpec *spec)
{
    if (spec->seed >= w->load->trainers_n || find_work(w, spec->job_id))
        return;
    struct load_work *work = CW_NEW(struct load_work);
    work->trainer = &w->load->trainers[spec->seed];
    if (!work->trainer->job_id)
        work->trainer->job_id = cw_mem_strdup(spec->job_id);
    work->next = w->works;
    w->works = work;
}

static void take_lease(struct load_worker *w, const Cachew__V1__Lease *lease)
{
    struct load_work *work = find_work(w, lease->job_id);
    struct cw_err err = {0};
    if (!work || cw_wire_set_from(lease->items, lease->n_items, &work->todo, &err) != 0)
        return;
    w->load->leases++;
    w->gather_ms = lease->report_ms;
    w->beat_ms = lease->heartbeat_ms ? lease->heartbeat_ms : w->beat_ms;
    if (work->asked_ns && w->load->measuring)
        load_samples_add(&w->load->lease, (double)(cw_clock_ns() - work->asked_ns) / 1e6);
    work->asked_ns = 0;
}

static void revoke(struct load_worker *w, const Cachew__V1__Revoke *revoked)
{
    struct load_work *work = find_work(w, revoked->job_id);
    for (size_t i = 0; work && i < revoked->n_items; i++)
        cw_set_remove(&work->todo, revoked->items[i]->lo, revoked->items[i]->hi);
}

static void prepared(struct load_worker *w, char *job_id)
{
    Cachew__V1__Prepared answer = CACHEW__V1__PREPARED__INIT;
    answer.job_id = job_id;
    answer.info = w->load->info;
    answer.manifest = (ProtobufCBinaryData){w->load->manifest->len, w->load->manifest->data};
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED;
    m.prepared = &answer;
    send(w, &m);
}

static void on_welcome(struct load_worker *w, const Cachew__V1__WorkerWelcome *welcome)
{
    int64_t now_ms = cw_clock_ms();
    w->welcomed = true;
    w->load->welcomed_n++;
    load_samples_add(&w->load->attach, (double)(cw_clock_ns() - w->hello_ns) / 1e6);
    w->beat_ms = welcome->heartbeat_ms;
    w->beat_at_ms = now_ms + (int64_t)(w->id % welcome->heartbeat_ms);
    w->counts_ms = now_ms - (int64_t)(w->id * 7 % COUNTS_MS);
    w->worked_ms = now_ms;
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct load_worker *w = arg;
    struct cw_err err = {0};
    Cachew__V1__WorkerCommand *c = (Cachew__V1__WorkerCommand *)cw_wire_unpack(
        &cachew__v1__worker_command__descriptor, msg, &err);
    CW_ASSERT(c);
    w->generation = c->generation;
    if (c->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_WELCOME)
        on_welcome(w, c->welcome);
    else if (c->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_PREPARE)
        prepared(w, c->prepare->job_id);
    else if (c->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_JOB)
        add_work(w, c->job);
    else if (c->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_LEASE)
        take_lease(w, c->lease);
    else if (c->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_REVOKE)
        revoke(w, c->revoke);
    protobuf_c_message_free_unpacked(&c->base, NULL);
}

static void on_close(void *arg, int code, const char *msg)
{
    struct load_worker *w = arg;
    fprintf(stderr, "worker %llu is let go: %d %s\n", (unsigned long long)w->id, code,
            msg ? msg : "");
    cw_stream_free(w->stream);
    w->stream = NULL;
    w->welcomed = false;
    w->load->lost_n++;
}

void load_worker_start(struct load *load, struct load_worker *w, uint64_t id)
{
    static const struct cw_stream_cb cb = {.on_message = on_message, .on_close = on_close};
    char address[64], version[] = CW_VERSION, host[64];
    snprintf(address, sizeof(address), "127.0.0.1:%llu", (unsigned long long)(1 + id % 65535));
    snprintf(host, sizeof(host), "host-%llu", (unsigned long long)id);
    w->load = load;
    w->id = id;
    w->channel = cw_channel_open(load->rpc, load->address);
    w->stream = cw_channel_stream(w->channel, "/cachew.v1.Fleet/Attach", &cb, w);
    w->hello_ns = cw_clock_ns();
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.worker_id = id;
    hello.address = address;
    hello.host_id = host;
    hello.threads = THREADS;
    hello.budget_bytes = 4ull << 30;
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    m.hello = &hello;
    send(w, &m);
}

void load_worker_stop(struct load_worker *w)
{
    if (w->stream)
        cw_stream_finish(w->stream, 0, NULL);
    cw_stream_free(w->stream);
    cw_channel_close(w->channel);
    for (struct load_work *work = w->works, *next; work; work = next) {
        next = work->next;
        cw_set_fini(&work->todo);
        cw_set_fini(&work->done);
        cw_mem_free(work);
    }
}
