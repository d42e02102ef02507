/* SPDX-License-Identifier: Apache-2.0 */
/* Opens plans. That may mean to scan many files, so each plan is opened on a thread of its own. A
 * job is either prepared (its sources are found, and the manifest is the result) or opened (with
 * the manifest of the worker that prepared it).
 *
 * Only a few loadings run at a time. Those that take long do not count, so that a slow file system
 * or pattern delays no other job. A loading whose result is not wanted any more is stopped by its
 * stop flag, unless it hangs in the kernel; then its thread is left alone, and its result is
 * dropped. */
#include "worker/job/plan_loader.h"

#include <string.h>

#include "base/call_note.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "exec/op_probe.h"
#include "format/source_file.h"
#include "graph/complete.h"
#include "graph/item_size.h"
#include "io/source_root.h"
#include "rewrite/key.h"
#include "wire/wire.h"
#include "worker/job/index_leases.h"
#include "worker/job/loading.h"
#include "worker/message/to_dispatcher.h"

#define QUICK_AT_ONCE 4
#define SLOW_MS 500     /* a loading that takes longer than this does not count as one of the few */
#define THREADS_MAX 256 /* limit for all threads, including those that hang */
/* How long a preparation continues without a dispatcher, which may come back and ask for it
 * again. */
#define ORPHAN_MS 30000
/* Number of plans that are kept after a preparation: this worker usually gets the job right
 * afterwards, and then need not scan the files again. */
#define PREPARED_MAX 4

struct cw_prepared {
    char *job_id;
    uint64_t seed;
    struct cw_buf *manifest;
    struct cw_plan *plan;
};

static void start_next(struct cw_worker_state *w);

static void opening_free(struct cw_loading *o)
{
    cw_thread_join(&o->thread);
    cw_stop_unref(o->stop);
    cw_graph_unref(o->graph);
    cw_graph_unref(o->as_written);
    cw_str_fini(&o->relaxed);
    cw_buf_unref(o->manifest_in);
    cw_plan_unref(o->written);
    cw_plan_unref(o->plan);
    cw_buf_unref(o->manifest_out);
    cw_index_leases_fini(o);
    cw_mem_free(o->job_id);
    cw_mem_free(o);
}

static void prepared_fini(struct cw_prepared *p)
{
    cw_mem_free(p->job_id);
    cw_buf_unref(p->manifest);
    cw_plan_unref(p->plan);
    *p = (struct cw_prepared){0};
}

static void keep_prepared(struct cw_worker_state *w, const struct cw_loading *o)
{
    if (!w->loader.prepared)
        w->loader.prepared = CW_NEW_ARRAY(struct cw_prepared, PREPARED_MAX);
    struct cw_prepared *p = &w->loader.prepared[w->loader.prepared_next++ % PREPARED_MAX];
    prepared_fini(p);
    *p = (struct cw_prepared){cw_mem_strdup(o->job_id), o->seed, cw_buf_ref(o->manifest_out),
                              cw_plan_ref(o->plan)};
}

struct cw_plan *cw_loader_take_prepared(struct cw_worker_state *w, const struct cw_wjob *job)
{
    for (size_t i = 0; w->loader.prepared && i < PREPARED_MAX; i++) {
        struct cw_prepared *p = &w->loader.prepared[i];
        if (!p->job_id || strcmp(p->job_id, job->id) != 0)
            continue;
        bool same = p->seed == job->seed && p->manifest->len == job->manifest->len &&
                    memcmp(p->manifest->data, job->manifest->data, p->manifest->len) == 0;
        struct cw_plan *plan = same ? cw_plan_ref(p->plan) : NULL;
        prepared_fini(p);
        return plan;
    }
    return NULL;
}

/* The graph of the loading becomes complete; returns an error if it cannot be. */
static int take_completed(struct cw_loading *o, int rc, struct cw_graph *completed)
{
    if (rc == 0) {
        o->was_completed = o->was_completed || completed != o->graph;
        cw_graph_unref(o->graph);
        o->graph = completed;
    }
    return rc;
}

static int open_beside(struct cw_loading *o)
{
    struct cw_checked *checked = NULL;
    struct cw_graph *completed = NULL;
    int rc = cw_graph_complete_like(o->graph, cw_plan_graph(o->written), &completed, &o->error);
    rc = take_completed(o, rc, completed);
    if (rc == 0)
        rc = cw_graph_check(o->graph, &checked, &o->error);
    if (rc == 0) {
        cw_key_set(checked);
        rc = cw_plan_open_beside(o->written, checked, &o->plan, &o->error);
    }
    cw_checked_unref(checked);
    return rc;
}

/* Operators that must see elements first are shown them. */
static int probe(struct cw_loading *o)
{
    struct cw_graph *completed = NULL;
    int rc = cw_exec_probe(o->graph, o->seed, o->stop, &completed, &o->error);
    return take_completed(o, rc, completed);
}

/* What is said of operators of plugins becomes part of the graph. */
static int settle(struct cw_loading *o, struct cw_checked **checked)
{
    struct cw_graph *settled = NULL;
    int rc = cw_graph_settle(*checked, &settled, &o->error);
    const bool is_other = rc == 0 && settled != o->graph;
    rc = take_completed(o, rc, settled);
    if (!is_other)
        return rc;
    cw_checked_unref(cw_steal(checked));
    return cw_graph_check(o->graph, checked, &o->error);
}

static int open_plan(struct cw_loading *o)
{
    struct cw_checked *checked = NULL;
    struct cw_graph *completed = NULL;
    struct cw_value manifest = {0};
    int rc = 0;
    if (!o->prepare)
        rc = cw_wire_manifest_unpack(o->manifest_in->data, o->manifest_in->len,
                                     CW_MAX(CW_MANIFEST_MEMORY, o->worker->budget / 2), &manifest,
                                     &o->error);
    /* An older dispatcher sends the graph as it was written also to those who did not prepare it. */
    if (rc == 0)
        rc = cw_graph_complete(o->graph, o->prepare ? NULL : &manifest, o->stop, &completed,
                               &o->error);
    rc = take_completed(o, rc, completed);
    if (rc == 0 && o->prepare)
        rc = probe(o);
    if (rc == 0)
        rc = cw_graph_check(o->graph, &checked, &o->error);
    if (rc == 0 && o->prepare)
        rc = settle(o, &checked);
    if (rc == 0 && o->prepare)
        rc = cw_item_check(checked, o->worker->budget, &o->error);
    if (rc == 0)
        cw_key_set(checked);
    if (rc == 0)
        rc = o->prepare ? cw_plan_prepare(checked, o->seed, o->parts, o->skip_bad, o->stop,
                                          &o->plan, &o->error)
                        : cw_plan_open(checked, o->seed, &manifest, o->stop, &o->plan, &o->error);
    cw_value_fini(&manifest);
    cw_checked_unref(checked);
    if (rc != 0 || !o->prepare)
        return rc;
    cw_plan_manifest(o->plan, &manifest);
    cw_index_tell_surveys(o->job_id, &manifest);
    o->manifest_out = cw_wire_manifest_pack(&manifest);
    cw_value_fini(&manifest);
    if (o->manifest_out->len > CW_MANIFEST_MAX)
        rc = cw_err_set(&o->error, CW_E_LIMIT,
                        "the list of files takes %zu bytes; at most %zu can be sent",
                        o->manifest_out->len, CW_MANIFEST_MAX);
    return rc;
}

static int prepare(struct cw_loading *o)
{
    int rc = open_plan(o);
    if (rc == 0)
        rc = cw_loading_try_relaxed(o);
    return rc == 0 && o->relaxed_refused ? open_plan(o) : rc;
}

static void unlink_opening(struct cw_loading **list, const struct cw_loading *o)
{
    while (*list != o)
        list = &(*list)->next;
    *list = o->next;
}

static void deliver(struct cw_worker_state *w, struct cw_loading *o)
{
    bool failed = o->error.code != 0;
    if (o->help) {
        cw_index_help_tell(o);
    } else if (o->prepare) {
        if (failed)
            cw_log_warn("worker", "job=%s cannot be prepared: %s", o->job_id, o->error.msg);
        else
            keep_prepared(w, o);
        cw_report_prepared(w, o->job_id,
                           &(const struct cw_prepared_report){
                               .plan = failed ? NULL : o->plan,
                               .completed = o->was_completed,
                               .manifest = o->manifest_out,
                               .error = &o->error,
                               .relaxed = cw_str_text(&o->relaxed),
                               .relaxed_refused = o->relaxed_refused,
                           });
    } else {
        struct cw_wjob *job = cw_wjob_get(w, o->job_id);
        struct cw_plan *plan = failed ? NULL : cw_plan_ref(o->plan);
        if (job && o->written && job->next_plan.open_serial == o->serial)
            w->loader.opened_beside(job, plan, &o->error);
        else if (job && !o->written && job->open_serial == o->serial)
            w->loader.opened(job, plan, &o->error);
        else
            cw_plan_unref(plan);
    }
}

/* called on the loop thread */
static void on_opened(void *arg)
{
    struct cw_loading *o = arg;
    struct cw_worker_state *w = o->worker;
    unlink_opening(&w->loader.running, o);
    w->loader.running_n--;
    cw_fault_point("worker.opened");
    if (w->closing)
        cw_loop_stop(w->loop);
    else if (!o->unwanted)
        deliver(w, o);
    opening_free(o);
    if (!w->closing)
        start_next(w);
}

static void run(void *arg)
{
    struct cw_loading *o = arg;
    cw_call_at_job(o->job_id);
    cw_source_use_store(o->source_store);
    cw_source_root_read_as(o->reader);
    int rc = o->help      ? cw_index_help_run(o)
             : o->written ? open_beside(o)
             : o->prepare ? prepare(o)
                          : open_plan(o);
    if (rc == 0) /* what was tried in vain before another way worked is no error */
        o->error = (struct cw_err){0};
    else if (o->error.code == 0)
        o->error.code = rc;
    o->node = (struct cw_loop_node){.fn = on_opened, .arg = o};
    cw_call_thread_end();
    cw_loop_post_node(o->worker->loop, &o->node);
}

/* Whether one more loading may run. If not, *ret_wait_ms is the time until it is worth asking
 * again; -1: when a running one ends. */
static bool has_room(const struct cw_worker_state *w, int64_t now_ms, int64_t *ret_wait_ms)
{
    size_t quick = 0;
    int64_t first_ms = now_ms;
    for (const struct cw_loading *o = w->loader.running; o; o = o->next) {
        bool counts = !o->unwanted && now_ms - o->began_ms < SLOW_MS;
        quick += counts;
        if (counts)
            first_ms = CW_MIN(first_ms, o->began_ms);
    }
    *ret_wait_ms =
        w->loader.running_n < THREADS_MAX && quick > 0 ? first_ms + SLOW_MS - now_ms : -1;
    return w->loader.running_n < THREADS_MAX && quick < QUICK_AT_ONCE;
}

static void on_slow(void *arg)
{
    start_next(arg);
}

static void start_next(struct cw_worker_state *w)
{
    int64_t wait_ms = -1;
    while (w->loader.waiting && has_room(w, cw_clock_ms(), &wait_ms)) {
        struct cw_loading *o = w->loader.waiting;
        w->loader.waiting = o->next;
        o->next = w->loader.running;
        w->loader.running = o;
        w->loader.running_n++;
        o->began_ms = cw_clock_ms();
        cw_thread_start(&o->thread, "cachew-open", run, o);
    }
    if (!w->loader.waiting)
        return;
    if (wait_ms < 0)
        cw_log_warn("worker", "job=%s waits to be opened: %zu others are, and take long",
                    w->loader.waiting->job_id, w->loader.running_n);
    else
        cw_timer_start(w->loader.timer, wait_ms + 1, 0);
}

static void begin(struct cw_worker_state *w, struct cw_loading *o)
{
    o->worker = w;
    o->stop = cw_stop_new();
    struct cw_loading **at = &w->loader.waiting;
    while (*at)
        at = &(*at)->next;
    *at = o;
    start_next(w);
}

/* ---- cancelling ---- */

/* Frees the loading if it has not begun; otherwise it is freed when its thread ends. */
static void give_up(struct cw_loading *o)
{
    struct cw_worker_state *w = o->worker;
    if (o->unwanted)
        return;
    o->unwanted = true;
    cw_stop_set(o->stop);
    if (o->began_ms == 0) {
        unlink_opening(&w->loader.waiting, o);
        opening_free(o);
    }
}

/* Gives up the loadings of a job (NULL: of all jobs). */
static void give_up_those(struct cw_worker_state *w, const char *job_id, bool orphans_only)
{
    struct cw_loading *const lists[] = {w->loader.running, w->loader.waiting};
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_loading *o = lists[i], *next; o; o = next) {
            next = o->next;
            if ((!job_id || strcmp(o->job_id, job_id) == 0) && (o->orphan || !orphans_only))
                give_up(o);
        }
}

void cw_loader_forget(struct cw_worker_state *w, const char *job_id)
{
    give_up_those(w, job_id, false);
    for (size_t i = 0; w->loader.prepared && i < PREPARED_MAX; i++)
        if (w->loader.prepared[i].job_id &&
            (!job_id || strcmp(w->loader.prepared[i].job_id, job_id) == 0))
            prepared_fini(&w->loader.prepared[i]);
    start_next(w);
}

static void on_orphans(void *arg)
{
    struct cw_worker_state *w = arg;
    give_up_those(w, NULL, true);
    start_next(w);
}

void cw_loader_detached(struct cw_worker_state *w)
{
    struct cw_loading *const lists[] = {w->loader.running, w->loader.waiting};
    cw_index_leases_detached(w);
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_loading *o = lists[i]; o; o = o->next)
            o->orphan = o->prepare || o->help;
    if (!w->closing)
        cw_timer_start(w->loader.orphans_timer, ORPHAN_MS, 0);
}

/* Continues a preparation for a dispatcher that has come back and asks for it again. Returns false
 * if there is none. */
static bool adopt(struct cw_worker_state *w, const char *job_id, uint64_t seed)
{
    struct cw_loading *const lists[] = {w->loader.running, w->loader.waiting};
    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_loading *o = lists[i]; o; o = o->next)
            if (o->prepare && !o->unwanted && o->seed == seed && strcmp(o->job_id, job_id) == 0) {
                o->orphan = false;
                return true;
            }
    return false;
}

/* ---- beginning and end ---- */

void cw_loader_prepare(struct cw_worker_state *w, const Cachew__V1__Prepare *prepare,
                       struct cw_graph *graph, struct cw_graph *written, uint64_t source_store)
{
    if (adopt(w, prepare->job_id, prepare->seed)) {
        cw_graph_unref(graph);
        cw_graph_unref(written);
        return;
    }
    struct cw_loading *o = CW_NEW(struct cw_loading);
    o->job_id = cw_mem_strdup(prepare->job_id);
    o->graph = graph;
    o->as_written = written;
    o->seed = prepare->seed;
    o->source_store = source_store;
    o->reader = cw_source_root_reader(prepare->tenant);
    o->prepare = true;
    o->skip_bad = prepare->skip_bad;
    cw_index_leases_init(o);
    begin(w, o);
}

void cw_loader_open(struct cw_wjob *job)
{
    struct cw_worker_state *w = job->worker;
    if (job->graph->identity == CW_IDENTITY_CONTENT)
        cw_log_info("worker",
                    "job=%s: all bytes of its files are compared with what it was prepared with "
                    "(identity content)",
                    job->id);
    struct cw_loading *o = CW_NEW(struct cw_loading);
    o->job_id = cw_mem_strdup(job->id);
    o->graph = cw_graph_ref(job->graph);
    o->seed = job->seed;
    o->source_store = job->cache.cache_id;
    o->reader = cw_source_root_reader(job->cache.tenant);
    o->manifest_in = cw_buf_ref(job->manifest);
    o->serial = job->open_serial = ++w->loader.serial;
    job->state = CW_WJOB_OPENING;
    begin(w, o);
}

void cw_loader_open_beside(struct cw_wjob *job, struct cw_graph *graph)
{
    struct cw_worker_state *w = job->worker;
    struct cw_loading *o = CW_NEW(struct cw_loading);
    o->job_id = cw_mem_strdup(job->id);
    o->graph = cw_graph_ref(graph);
    o->written = cw_plan_ref(job->written);
    o->source_store = job->cache.cache_id;
    o->reader = cw_source_root_reader(job->cache.tenant);
    o->serial = job->next_plan.open_serial = ++w->loader.serial;
    begin(w, o);
}

void cw_loader_start(struct cw_worker_state *w)
{
    cw_exec_surveys();
    w->loader.begin = begin;
    w->loader.timer = cw_timer_new(w->loop, on_slow, w);
    w->loader.orphans_timer = cw_timer_new(w->loop, on_orphans, w);
}

void cw_loader_stop(struct cw_worker_state *w)
{
    give_up_those(w, NULL, false);
    for (size_t i = 0; w->loader.prepared && i < PREPARED_MAX; i++)
        prepared_fini(&w->loader.prepared[i]);
    cw_mem_free(w->loader.prepared);
    w->loader.prepared = NULL;
    cw_timer_free(w->loader.timer);
    cw_timer_free(w->loader.orphans_timer);
    w->loader.timer = w->loader.orphans_timer = NULL;
}
