/* SPDX-License-Identifier: Apache-2.0 */
/* The list of workers, which may be many: their rows are made and packed in several iterations of the
 * loop, so that nobody waits for all of them. */
#include "dispatcher/admin/admin_int.h"
#include "dispatcher/admin/walk.h"
#include "dispatcher/kubernetes/kubernetes.h"

#include <string.h>

#define WAITING_MAX 1000 /* pods that are listed */

struct listing {
    struct cw_walk walk;
    struct cw_str packed; /* the rows so far */
};

static void fill_worker(const struct cw_worker *worker, int64_t now, Cachew__V1__WorkerRow *r)
{
    static char ready[] = "ready", draining[] = "draining", leaving[] = "leaving";
    cachew__v1__worker_row__init(r);
    r->worker_id = worker->id;
    r->address = worker->address;
    r->host_id = worker->host_id;
    r->threads = worker->threads;
    r->pid = worker->pid;
    r->state = worker->draining ? draining : worker->leaving ? leaving : ready;
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

static void on_worker(struct cw_walk *walk, const struct cw_worker *worker)
{
    struct listing *list = CW_CONTAINER_OF(walk, struct listing, walk);
    const struct cw_caller *caller = cw_call_caller(walk->call);
    if (!sees_worker(caller, worker))
        return;
    Cachew__V1__WorkerRow row, *rows[] = {&row};
    Cachew__V1__ListWorkersReply part = CACHEW__V1__LIST_WORKERS_REPLY__INIT;
    fill_worker(worker, cw_clock_ms(), &row);
    hide_jobs(caller, walk->d, &row);
    part.n_workers = 1;
    part.workers = rows;
    cw_svc_add_packed(&list->packed, &part.base);
    cw_mem_free(row.jobs);
}

/* ---- the provisioner of Kubernetes ---- */

#define TEXT(s) ((char *)(uintptr_t)(s)) /* protobuf-c's fields are not const */

static void add_deployments(const struct cw_dispatcher *d, struct cw_str *packed)
{
    struct cw_cluster_deployment from;
    for (size_t i = 0; cw_cluster_next_deployment(d, &i, &from);) {
        Cachew__V1__DeploymentRow row = CACHEW__V1__DEPLOYMENT_ROW__INIT, *rows[] = {&row};
        Cachew__V1__ListWorkersReply part = CACHEW__V1__LIST_WORKERS_REPLY__INIT;
        row.name = TEXT(from.name);
        row.asked = from.asked;
        row.ready = from.ready;
        row.wanted = from.wanted;
        row.workers = from.workers;
        row.waiting = from.waiting;
        row.not_to_be_had = from.not_to_be_had;
        row.max = from.max == UINT64_MAX ? 0 : from.max;
        row.price = from.price;
        row.held = from.held;
        row.state = TEXT(from.state);
        part.n_deployments = 1;
        part.deployments = rows;
        cw_svc_add_packed(packed, &part.base);
    }
}

static void add_waiting(const struct cw_dispatcher *d, struct cw_str *packed)
{
    struct cw_cluster_waiting from;
    size_t n = 0;
    for (size_t i = 0; n < WAITING_MAX && cw_cluster_next_waiting(d, &i, &from); n++) {
        Cachew__V1__WaitingPodRow row = CACHEW__V1__WAITING_POD_ROW__INIT, *rows[] = {&row};
        Cachew__V1__ListWorkersReply part = CACHEW__V1__LIST_WORKERS_REPLY__INIT;
        row.pod = TEXT(from.pod);
        row.deployment = TEXT(from.deployment);
        row.node = TEXT(from.node);
        row.reason = TEXT(from.reason);
        row.message = TEXT(from.message);
        row.waits_ms = (uint64_t)from.waits_ms;
        row.not_to_be_had = from.not_to_be_had;
        part.n_waiting = 1;
        part.waiting = rows;
        cw_svc_add_packed(packed, &part.base);
    }
}

static void reply(struct cw_walk *walk, bool all)
{
    struct listing *list = CW_CONTAINER_OF(walk, struct listing, walk);
    const struct cw_dispatcher *d = walk->d;
    Cachew__V1__ListWorkersReply rest = CACHEW__V1__LIST_WORKERS_REPLY__INIT;
    (void)all; /* No call is open any more when the dispatcher has ended. */
    rest.generation = d->generation;
    rest.provisioner = (char *)(uintptr_t)d->provision.kind->name;
    rest.starting =
        d->provision.kind->fixed ? 0 : (uint32_t)d->provision.kind->starting(d->provision.state);
    rest.wanted = d->provision.wanted;
    rest.min_workers = d->options.min_workers;
    rest.max_workers = d->options.max_workers;
    rest.generation_seen = d->generation_seen;
    cw_svc_add_packed(&list->packed, &rest.base);
    if (!cw_access_tenant_of(cw_call_caller(walk->call))) {
        add_deployments(d, &list->packed);
        add_waiting(d, &list->packed);
    }
    cw_svc_reply_packed(walk->call, &list->packed);
    cw_mem_free(list);
}

void cw_svc_list_workers(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    (void)request;
    struct listing *list = CW_NEW(struct listing);
    list->walk = (struct cw_walk){.d = arg, .call = call, .on_worker = on_worker, .done = reply};
    cw_walk_begin(&list->walk);
}
