/* SPDX-License-Identifier: Apache-2.0 */
/* The session with the dispatcher. The stream is opened again for ever, with backoff; meanwhile the
 * leases that this worker has are served. The first message of each stream lists what is held, so
 * that a dispatcher which was restarted knows it too. */
#include "worker/session/dispatcher_session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/short_reason.h"
#include "base/version.h"
#include "wire/wire.h"
#include "worker/cache/cache_report.h"
#include "worker/cache/source.h"
#include "worker/cache/worker_cache.h"
#include "worker/job/plan_loader.h"
#include "worker/session/commands.h"
#include "worker/session/drain.h"
#include "worker/session/report.h"

#define RETRY_CAP_MS 2000
#define WELCOME_MS 10000

static void set_attached(struct cw_worker_state *w, bool attached)
{
    w->session.attached = attached;
    cw_server_set_ready(w->server, attached);
}

static void reconnect_later(struct cw_worker_state *w)
{
    set_attached(w, false);
    cw_report_detached(w);
    cw_wcache_report_detached(w);
    cw_loader_detached(w);
    if (!w->closing && !w->drain.done)
        cw_timer_start(w->session.retry, cw_backoff_next_ms(&w->session.backoff), 0);
}

static void leave(struct cw_worker_state *w, const char *why)
{
    if (!w->session.stream)
        return;
    cw_log_warn("worker", "leaving dispatcher %s: %s", w->dispatcher, why);
    cw_stream_free(w->session.stream);
    w->session.stream = NULL;
    reconnect_later(w);
}

static void on_overflow(struct cw_worker_state *w)
{
    leave(w, "it does not read what it is sent");
}

/* ---- held items ---- */

struct held_list {
    Cachew__V1__HeldLease **v;
    size_t n, cap;
    /* For each lease: what is held, and what is computed of that. */
    struct held_sets {
        struct cw_set all, done;
    } * sets;
};

static struct held_sets *held_of(struct held_list *list, const struct cw_wjob *job,
                                 struct cw_lease_id id, uint64_t epoch)
{
    for (size_t i = list->n; i-- > 0;) {
        const Cachew__V1__HeldLease *h = list->v[i];
        if (h->epoch == epoch && h->lease->generation == id.generation &&
            h->lease->counter == id.counter && h->job_id == job->id)
            return &list->sets[i];
    }
    if (list->n >= list->cap) {
        list->cap = list->cap ? 2 * list->cap : 16;
        list->v = cw_mem_grow(list->v, list->cap, sizeof(*list->v));
        list->sets = cw_mem_grow(list->sets, list->cap, sizeof(*list->sets));
    }
    Cachew__V1__HeldLease *h = CW_NEW(Cachew__V1__HeldLease);
    cachew__v1__held_lease__init(h);
    h->lease = CW_NEW(Cachew__V1__LeaseId);
    cachew__v1__lease_id__init(h->lease);
    h->lease->generation = id.generation;
    h->lease->counter = id.counter;
    h->job_id = job->id;
    h->epoch = epoch;
    list->sets[list->n] = (struct held_sets){0};
    list->v[list->n] = h;
    return &list->sets[list->n++];
}

/* A job of which nothing is held is listed, too: the dispatcher may have removed it meanwhile. */
static void add_held(struct held_list *list, const struct cw_wjob *job)
{
    size_t before = list->n;
    for (size_t i = 0; i < job->leases_n; i++)
        cw_set_add_all(&held_of(list, job, job->leases[i].id, job->leases[i].epoch)->all,
                       &job->leases[i].pending);
    for (const struct cw_wtask *t = job->tasks; t; t = t->next)
        if (!t->revoked)
            cw_set_add(&held_of(list, job, t->lease, t->exec.epoch)->all, t->exec.item,
                       t->exec.item + 1);
    for (uint32_t q = 0; q < job->consumers; q++)
        for (size_t i = 0; i < job->queues[q].n; i++) {
            const struct cw_output *o = job->queues[q].v[i];
            struct held_sets *held = held_of(list, job, o->lease, o->epoch);
            cw_set_add(&held->all, o->item, o->item + 1);
            cw_set_add(&held->done, o->item, o->item + 1);
        }
    if (list->n == before)
        (void)held_of(list, job, (struct cw_lease_id){0}, 0);
}

/* Returns a name of the pod, which its environment has from the downward API; "": it has none. */
static char *pod_name(const char *variable)
{
    static char none[] = "";
    char *name = getenv(variable);
    return name && cw_name_is_pod(name) ? name : none;
}

/* Returns the ids of the named caches whose stores are open, or are being closed. The caller frees the
 * list. */
static uint64_t *named_caches(const struct cw_worker_state *w, size_t *ret_n)
{
    const struct cw_wcache_store *lists[] = {w->cache.named, w->cache.retired, w->cache.closing};
    uint64_t *ids = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (const struct cw_wcache_store *store = lists[i]; store; store = store->next) {
            if (store->id == 0)
                continue;
            CW_GROW(ids, n, cap);
            ids[n++] = store->id;
        }
    *ret_n = n;
    return ids;
}

static void add_pod(Cachew__V1__WorkerHello *hello)
{
    hello->pod_name = pod_name("CACHEW_POD_NAME");
    hello->pod_namespace = pod_name("CACHEW_POD_NAMESPACE");
    hello->pod_uid = pod_name("CACHEW_POD_UID");
    hello->node_name = pod_name("CACHEW_NODE_NAME");
}

/* Returns what the process died of whose place this one takes; NULL: nobody has to be told. */
static Cachew__V1__Died *fill_died(const struct cw_worker_state *w, Cachew__V1__Died *died)
{
    if (!w->died)
        return NULL;
    died->worker_id = w->died->worker_id;
    died->job_id = (char *)(uintptr_t)w->died->job;
    died->has_item = w->died->has_item;
    died->epoch = w->died->epoch;
    died->item = w->died->item;
    died->text = (char *)(uintptr_t)w->died->text;
    return died;
}

static void send_hello(struct cw_worker_state *w)
{
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    char version[] = CW_VERSION;
    char none[] = "";
    hello.protocol = CW_PROTOCOL;
    hello.version = version;
    hello.worker_id = w->id;
    hello.address = w->address;
    hello.host_id = w->host_id;
    hello.threads = (uint32_t)w->threads;
    hello.budget_bytes = w->budget;
    /* With plugins the process that was started is the parent (worker/plugin_parent.h). */
    hello.pid = (uint32_t)(w->operators_n > 0 ? getppid() : getpid());
    hello.only_job = w->only_job ? w->only_job : none;
    add_pod(&hello);
    struct held_list list = {0};
    for (size_t i = 0; i < w->jobs.n; i++)
        add_held(&list, w->jobs.list[i]);
    for (size_t i = 0; i < list.n; i++) {
        list.v[i]->items = cw_wire_set_to(&list.sets[i].all, &list.v[i]->n_items);
        list.v[i]->done = cw_wire_set_to(&list.sets[i].done, &list.v[i]->n_done);
    }
    hello.held = list.v;
    hello.n_held = list.n;
    hello.named_caches = true;
    hello.job_plans = true;
    hello.index_parts = true;
    hello.caches = named_caches(w, &hello.n_caches);
    hello.operators = (char **)(uintptr_t)w->operators;
    hello.n_operators = w->operators_n;
    Cachew__V1__Died died = CACHEW__V1__DIED__INIT;
    hello.died = fill_died(w, &died);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.generation = w->session.generation;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    m.hello = &hello;
    cw_wire_send(w->session.stream, &m.base);
    for (size_t i = 0; i < list.n; i++) {
        cw_mem_free(list.v[i]->items);
        cw_mem_free(list.v[i]->done);
        cw_mem_free(list.v[i]->lease);
        cw_mem_free(list.v[i]);
        cw_set_fini(&list.sets[i].all);
        cw_set_fini(&list.sets[i].done);
    }
    cw_mem_free(list.v);
    cw_mem_free(hello.caches);
    cw_mem_free(list.sets);
}

/* ---- the stream ---- */

static void on_welcome(struct cw_worker_state *w, const Cachew__V1__WorkerWelcome *welcome)
{
    set_attached(w, true);
    w->died = NULL; /* it was told */
    w->session.logged_unreachable = false;
    cw_timer_stop(w->session.retry);
    cw_backoff_reset(&w->session.backoff);
    w->report.beat_ms =
        welcome->heartbeat_ms ? CW_MAX((int64_t)welcome->heartbeat_ms, CW_BEAT_MIN_MS) : 250;
    w->report.idle_beat_ms = welcome->silence_ms
                                 ? CW_MAX((int64_t)welcome->silence_ms / 4, w->report.beat_ms)
                                 : w->report.beat_ms;
    cw_log_info("worker", "attached to dispatcher %s, generation %llu", w->dispatcher,
                (unsigned long long)w->session.generation);
    cw_wsource_set_store(w, welcome->store);
    cw_wcache_set_store(w, welcome->store);
    cw_report_attached(w);
    if (w->drain.active)
        cw_drain_announce(w);
}

static void on_message(void *arg, struct cw_rpc_msg *msg)
{
    struct cw_worker_state *w = arg;
    struct cw_err err = {0};
    cw_fault_point("worker.command");
    if (cw_fault_rare("worker.registers_again")) {
        leave(w, "in a test");
        return;
    }
    Cachew__V1__WorkerCommand *command = (Cachew__V1__WorkerCommand *)cw_wire_unpack(
        &cachew__v1__worker_command__descriptor, msg, &err);
    if (!command) {
        leave(w, err.msg);
        return;
    }
    if (command->generation < w->session.generation) {
        leave(w, "its generation is lower than one seen before");
    } else {
        const char *why;
        w->session.generation = command->generation;
        if (command->kind_case == CACHEW__V1__WORKER_COMMAND__KIND_WELCOME)
            on_welcome(w, command->welcome);
        else if (!w->session.attached)
            leave(w, "its first message is not a welcome");
        else if ((why = cw_commands_run(w, command)) != NULL)
            leave(w, why);
    }
    protobuf_c_message_free_unpacked(&command->base, NULL);
}

static void attach(void *arg);

static void log_unreachable(const struct cw_worker_state *w, int code, const char *msg)
{
    char why[256];
    cw_short_reason(w->dispatcher, msg, why, sizeof(why));
    cw_log_warn("worker", "dispatcher %s: %s%s%s%s; trying again", w->dispatcher,
                code ? cw_err_name(code) : "stream ended", why[0] ? ": " : "", why,
                strstr(why, "refused") ? " (is cachew-dispatcher running there?)" : "");
}

static void on_close(void *arg, int code, const char *msg)
{
    struct cw_worker_state *w = arg;
    bool asked = cw_channel_was_asked(w->session.channel);
    if (asked && !w->session.attached && !w->closing) { /* This is no failure. */
        cw_stream_free(cw_steal(&w->session.stream));
        attach(w);
        return;
    }
    if (!w->session.logged_unreachable)
        log_unreachable(w, code, msg);
    w->session.logged_unreachable = true;
    cw_stream_free(w->session.stream);
    w->session.stream = NULL;
    reconnect_later(w);
}

static void attach(void *arg)
{
    static const struct cw_stream_cb cb = {.on_message = on_message, .on_close = on_close};
    struct cw_worker_state *w = arg;
    if (w->session.stream) {
        leave(w, "it does not answer");
        return;
    }
    cw_fault_point("worker.attach");
    w->session.stream = cw_channel_stream(w->session.channel, "/cachew.v1.Fleet/Attach", &cb, w);
    send_hello(w);
    cw_timer_start(w->session.retry, WELCOME_MS, 0);
}

void cw_wsession_start(struct cw_worker_state *w)
{
    w->session.channel = cw_channel_open(w->rpc, w->dispatcher);
    cw_channel_set_token(w->session.channel, w->token, w->token_file);
    w->session.overflow = on_overflow;
    cw_backoff_init(&w->session.backoff, RETRY_CAP_MS);
    w->session.retry = cw_timer_new(w->loop, attach, w);
    attach(w);
}

void cw_wsession_stop(struct cw_worker_state *w)
{
    cw_timer_free(w->session.retry);
    w->session.retry = NULL;
    if (w->session.stream && w->drain.done)
        cw_stream_finish(w->session.stream, 0, NULL); /* what was handed back must still be sent */
    cw_stream_free(w->session.stream);
    w->session.stream = NULL;
    w->session.attached = false;
    cw_channel_close(w->session.channel);
    w->session.channel = NULL;
}
