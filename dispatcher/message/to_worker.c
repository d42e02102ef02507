/* SPDX-License-Identifier: Apache-2.0 */
/* Commands to workers that several modules send. */
#include "dispatcher/message/message.h"

void cw_worker_send(struct cw_worker *worker, Cachew__V1__WorkerCommand *command)
{
    if (worker->failed || !worker->stream)
        return;
    command->generation = worker->d->generation;
    cw_wire_send(worker->stream, &command->base);
}

void cw_worker_send_parts(struct cw_worker *worker, uint32_t kind, const ProtobufCMessage *body,
                          const struct cw_wire_part *parts, size_t n)
{
    if (worker->failed || !worker->stream)
        return;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.generation = worker->d->generation;
    cw_wire_send_parts(worker->stream, &command.base, kind, body, parts, n);
}

void cw_worker_retire(struct cw_worker *worker)
{
    Cachew__V1__Drain drain = CACHEW__V1__DRAIN__INIT;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_DRAIN;
    command.drain = &drain;
    worker->retiring = true;
    cw_worker_recount(worker);
    worker->d->due.assignment = true;
    cw_worker_send(worker, &command);
}

void cw_worker_send_plan(struct cw_worker *worker, const struct cw_job *job, bool only_try)
{
    if (!worker->job_plans)
        return;
    Cachew__V1__JobPlan plan = CACHEW__V1__JOB_PLAN__INIT;
    plan.job_id = job->id;
    plan.number = only_try ? job->plan.last : job->plan.number;
    plan.only_try = only_try;
    struct cw_buf *graph = only_try ? job->plan.next : job->plan.graph;
    const struct cw_wire_part part = {"graph", graph};
    cw_worker_send_parts(worker, CACHEW__V1__WORKER_COMMAND__KIND_JOB_PLAN, &plan.base, &part,
                         graph ? 1 : 0);
}

void cw_lease_revoke(struct cw_worker *worker, const struct cw_job *job, uint64_t epoch,
                     const struct cw_set *items)
{
    if (items->n == 0)
        return;
    Cachew__V1__Revoke revoke = CACHEW__V1__REVOKE__INIT;
    revoke.job_id = job->id;
    revoke.epoch = epoch;
    revoke.items = cw_wire_set_to(items, &revoke.n_items);
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_REVOKE;
    command.revoke = &revoke;
    cw_worker_send(worker, &command);
    cw_mem_free(revoke.items);
}

void cw_worker_forget_job(struct cw_worker *worker, const char *job_id, const char *reason)
{
    Cachew__V1__Forget forget = CACHEW__V1__FORGET__INIT;
    cw_autofree char *id = cw_mem_strdup(job_id), *text = cw_mem_strdup(reason);
    forget.job_id = id;
    forget.reason = text;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_FORGET;
    command.forget = &forget;
    cw_worker_send(worker, &command);
}
