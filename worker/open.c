/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a plan may scan many files: each runs on a thread of its own, a few at a time. Either a job is prepared
 * (sources are found out, the manifest is the result) or opened (with the manifest of the worker that prepared it). */
#include "worker/worker_int.h"

#include <string.h>

#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "wire/wire.h"

#define OPENINGS_AT_ONCE 4
/* Plans kept from preparing: this worker is usually given the job right after, and need not scan the files again. */
#define PREPARED_MAX 4

struct cw_prepared {
    char *job_id;
    uint64_t seed;
    struct cw_buf *manifest;
    struct cw_plan *plan;
};

struct cw_opening {
    struct cw_opening *next; /* waiting */
    struct cw_worker *worker;
    struct cw_thread thread;
    struct cw_loop_node node;
    char *job_id;
    uint64_t serial;
    bool prepare;
    /* given to the thread */
    struct cw_graph *graph;
    uint64_t seed;
    struct cw_buf *manifest_in;
    /* made by it */
    struct cw_plan *plan;
    struct cw_buf *manifest_out;
    struct cw_err error;
};

static void start_next(struct cw_worker *w);

static void opening_free(struct cw_opening *o)
{
    cw_thread_join(&o->thread);
    cw_graph_unref(o->graph);
    cw_buf_unref(o->manifest_in);
    cw_plan_unref(o->plan);
    cw_buf_unref(o->manifest_out);
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

static void keep_prepared(struct cw_worker *w, const struct cw_opening *o)
{
    if (!w->prepared)
        w->prepared = CW_NEW_ARRAY(struct cw_prepared, PREPARED_MAX);
    struct cw_prepared *p = &w->prepared[w->prepared_next++ % PREPARED_MAX];
    prepared_fini(p);
    *p = (struct cw_prepared){cw_mem_strdup(o->job_id), o->seed, cw_buf_ref(o->manifest_out), cw_plan_ref(o->plan)};
}

struct cw_plan *cw_open_take_prepared(struct cw_worker *w, const struct cw_wjob *job)
{
    for (size_t i = 0; w->prepared && i < PREPARED_MAX; i++) {
        struct cw_prepared *p = &w->prepared[i];
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

static int open_plan(struct cw_opening *o)
{
    struct cw_checked *checked = NULL;
    struct cw_value manifest = {0};
    int rc = cw_graph_check(o->graph, &checked, &o->error);
    if (rc == 0 && !o->prepare)
        rc = cw_wire_manifest_unpack(o->manifest_in->data, o->manifest_in->len, &manifest, &o->error);
    if (rc == 0)
        rc = cw_plan_new(checked, o->seed, o->prepare ? NULL : &manifest, &o->plan, &o->error);
    cw_value_fini(&manifest);
    cw_checked_unref(checked);
    if (rc != 0 || !o->prepare)
        return rc;
    cw_plan_manifest(o->plan, &manifest);
    o->manifest_out = cw_wire_manifest_pack(&manifest);
    cw_value_fini(&manifest);
    if (o->manifest_out->len > CW_RPC_CONTROL_MAX / 2)
        rc = cw_err_set(&o->error, CW_E_LIMIT, "the list of files takes %zu bytes; at most %u can be sent", o->manifest_out->len,
                        CW_RPC_CONTROL_MAX / 2);
    return rc;
}

/* loop */
static void on_opened(void *arg)
{
    struct cw_opening *o = arg;
    struct cw_worker *w = o->worker;
    w->openings_n--;
    cw_fault_point("worker.opened");
    bool failed = o->error.code != 0;
    if (w->closing) {
        opening_free(o);
        cw_loop_stop(w->loop);
        return;
    }
    if (o->prepare) {
        if (failed)
            cw_log_warn("worker", "job=%s cannot be prepared: %s", o->job_id, o->error.msg);
        else
            keep_prepared(w, o);
        cw_report_prepared(w, o->job_id, o->graph, failed ? NULL : o->plan, o->manifest_out, &o->error);
    } else {
        struct cw_wjob *job = cw_wjob_get(w, o->job_id);
        if (job && job->open_serial == o->serial)
            cw_wjob_opened(job, failed ? NULL : (struct cw_plan *)cw_steal(&o->plan), &o->error);
    }
    opening_free(o);
    start_next(w);
}

static void run(void *arg)
{
    struct cw_opening *o = arg;
    int rc = open_plan(o);
    if (rc != 0 && o->error.code == 0)
        o->error.code = rc;
    o->node = (struct cw_loop_node){.fn = on_opened, .arg = o};
    cw_loop_post_node(o->worker->loop, &o->node);
}

static void start_next(struct cw_worker *w)
{
    while (w->openings_waiting && w->openings_n < OPENINGS_AT_ONCE) {
        struct cw_opening *o = w->openings_waiting;
        w->openings_waiting = o->next;
        w->openings_n++;
        cw_thread_start(&o->thread, "cachew-open", run, o);
    }
}

static void begin(struct cw_worker *w, struct cw_opening *o)
{
    o->worker = w;
    struct cw_opening **at = &w->openings_waiting;
    while (*at)
        at = &(*at)->next;
    *at = o;
    start_next(w);
}

void cw_open_prepare(struct cw_worker *w, const char *job_id, struct cw_graph *graph, uint64_t seed)
{
    struct cw_opening *o = CW_NEW(struct cw_opening);
    o->job_id = cw_mem_strdup(job_id);
    o->graph = graph;
    o->seed = seed;
    o->prepare = true;
    begin(w, o);
}

void cw_open_job(struct cw_wjob *job)
{
    struct cw_worker *w = job->worker;
    struct cw_opening *o = CW_NEW(struct cw_opening);
    o->job_id = cw_mem_strdup(job->id);
    o->graph = cw_graph_ref(job->graph);
    o->seed = job->seed;
    o->manifest_in = cw_buf_ref(job->manifest);
    o->serial = job->open_serial = ++w->open_serial;
    job->state = CW_WJOB_OPENING;
    begin(w, o);
}

void cw_open_stop(struct cw_worker *w)
{
    for (size_t i = 0; w->prepared && i < PREPARED_MAX; i++)
        prepared_fini(&w->prepared[i]);
    cw_mem_free(w->prepared);
    w->prepared = NULL;
    while (w->openings_waiting) {
        struct cw_opening *o = w->openings_waiting;
        w->openings_waiting = o->next;
        opening_free(o);
    }
}
