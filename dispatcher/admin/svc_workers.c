/* SPDX-License-Identifier: Apache-2.0 */
/* The list of workers, which may be many: their rows are made and packed in several iterations of the
 * loop, so that nobody waits for all of them. */
#include "dispatcher/admin/admin_int.h"

#include <string.h>

#define SLICE 200 /* workers in one iteration */

struct listing {
    struct cw_dispatcher *d;
    struct cw_call *call;
    struct cw_str packed; /* the rows so far */
    /* How many workers were passed. One that leaves meanwhile moves those behind it, of which one is
     * then missing; those that come are behind all others, so none is listed twice. */
    size_t passed;
};

static void fill_worker(const struct cw_worker *worker, int64_t now, Cachew__V1__WorkerRow *r)
{
    static char ready[] = "ready", draining[] = "draining";
    cachew__v1__worker_row__init(r);
    r->worker_id = worker->id;
    r->address = worker->address;
    r->host_id = worker->host_id;
    r->threads = worker->threads;
    r->pid = worker->pid;
    r->state = worker->draining ? draining : ready;
    for (const struct cw_share *share = worker->shares; share; share = share->next_of_worker)
        r->leased += share->todo_n;
    r->done = worker->done_n;
    r->budget_bytes = worker->budget_bytes;
    r->budget_used = worker->budget_used;
    r->cpu_share = worker->cpu_share;
    r->silent_ms = (uint32_t)(now - worker->last_heard_ms);
    r->version = worker->version;
    r->pod_name = worker->pod_name;
    r->pod_namespace = worker->pod_namespace;
    r->pod_uid = worker->pod_uid;
    r->node_name = worker->node_name;
    r->source = worker->source_tiers;
    r->n_source = worker->source_tiers_n;
    r->named_source = worker->named_tiers;
    r->n_named_source = worker->named_tiers_n;
    cw_svc_worker_row(worker, now, r);
}

static bool sees_job_id(const struct cw_caller *caller, const struct cw_dispatcher *d,
                        const char *job_id)
{
    const struct cw_job *job = cw_strmap_get(&d->jobs_by_id, job_id);
    return job ? cw_access_sees_job(caller, job) : !cw_access_tenant_of(caller);
}

/* A worker beside another tenant's trainer is nobody else's business. */
static bool sees_worker(const struct cw_caller *caller, const struct cw_worker *worker)
{
    return worker->only_job[0] == '\0' || sees_job_id(caller, worker->d, worker->only_job);
}

/* Takes jobs out of a row that the caller may not see. */
static void hide_jobs(const struct cw_caller *caller, const struct cw_dispatcher *d,
                      Cachew__V1__WorkerRow *row)
{
    static char empty[] = "";
    size_t n = 0;
    for (size_t i = 0; i < row->n_jobs; i++)
        if (sees_job_id(caller, d, row->jobs[i]))
            row->jobs[n++] = row->jobs[i];
    row->n_jobs = n;
    if (row->other_files_job[0] != '\0' && !sees_job_id(caller, d, row->other_files_job))
        row->other_files_job = row->other_files = empty;
}

static void add_row(struct listing *list, const struct cw_worker *worker)
{
    const struct cw_caller *caller = cw_call_caller(list->call);
    if (!worker->said_hello || !sees_worker(caller, worker))
        return;
    Cachew__V1__WorkerRow row, *rows[] = {&row};
    Cachew__V1__ListWorkersReply part = CACHEW__V1__LIST_WORKERS_REPLY__INIT;
    fill_worker(worker, cw_clock_ms(), &row);
    hide_jobs(caller, list->d, &row);
    part.n_workers = 1;
    part.workers = rows;
    struct cw_buf *buf = cw_wire_pack(&part.base);
    cw_str_add_bytes(&list->packed, buf->data, buf->len);
    cw_buf_unref(buf);
    cw_mem_free(row.jobs);
}

/* Packed messages of one type, put together, are one message with the fields of all. */
static void reply(struct listing *list)
{
    const struct cw_dispatcher *d = list->d;
    Cachew__V1__ListWorkersReply rest = CACHEW__V1__LIST_WORKERS_REPLY__INIT;
    rest.generation = d->generation;
    rest.provisioner = (char *)(uintptr_t)d->provision.kind->name;
    rest.starting =
        d->provision.kind->fixed ? 0 : (uint32_t)d->provision.kind->starting(d->provision.state);
    rest.wanted = d->provision.wanted;
    rest.min_workers = d->options.min_workers;
    rest.max_workers = d->options.max_workers;
    rest.generation_seen = d->generation_seen;
    struct cw_buf *bufs[] = {
        cw_buf_wrap((void *)(uintptr_t)cw_str_text(&list->packed), list->packed.len, NULL, NULL),
        cw_wire_pack(&rest.base)};
    struct cw_buf *whole = cw_buf_new(bufs[0]->len + bufs[1]->len);
    if (whole) {
        memcpy(whole->data, bufs[0]->data, bufs[0]->len);
        memcpy((char *)whole->data + bufs[0]->len, bufs[1]->data, bufs[1]->len);
        cw_call_reply(list->call, whole);
    } else {
        cw_call_fail(list->call, CW_E_NOMEM, "out of memory for the list");
    }
    cw_buf_unref(whole);
    cw_buf_unref(bufs[0]);
    cw_buf_unref(bufs[1]);
    cw_str_fini(&list->packed);
    cw_mem_free(list);
}

/* Returns whether there are more. */
static bool add_slice(struct listing *list)
{
    const struct cw_worker *worker = list->d->workers;
    for (size_t i = 0; worker && i < list->passed; i++)
        worker = worker->next;
    for (size_t i = 0; worker && i < SLICE; i++, worker = worker->next) {
        add_row(list, worker);
        list->passed++;
    }
    return worker != NULL;
}

static void go_on(void *arg)
{
    struct listing *list = arg;
    int64_t begin = cw_clock_thread_cpu_ns();
    bool more = add_slice(list);
    cw_call_note_time(list->call, cw_clock_thread_cpu_ns() - begin);
    if (more)
        cw_loop_post(list->d->loop, go_on, list);
    else
        reply(list);
}

void cw_svc_list_workers(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    (void)request;
    struct listing *list = CW_NEW(struct listing);
    list->d = arg;
    list->call = call;
    if (add_slice(list))
        cw_loop_post(list->d->loop, go_on, list);
    else
        reply(list);
}
