/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and sends the messages to the dispatcher, except for Progress and the hello. */
#include "worker/message/to_dispatcher.h"

#include "base/fault.h"
#include "base/mem.h"
#include "wire/wire.h"

/* The most bytes that may be queued for a dispatcher that does not read. */
#define QUEUED_MAX ((size_t)256 << 20)

/* Sends a message if there is a stream, on which the hello was the first message. It is for
 * messages that say that an item is not held any more: the hello may have listed the item, so they
 * must not be dropped before the welcome comes. */
static void send_behind_hello(struct cw_worker_state *w, Cachew__V1__WorkerMessage *message)
{
    if (!w->session.stream)
        return; /* the next hello does not list the item */
    message->generation = w->session.generation;
    cw_wire_send(w->session.stream, &message->base);
    if (cw_stream_queued(w->session.stream) > QUEUED_MAX || cw_fault_rare("worker.overflow"))
        w->session.overflow(w);
}

void cw_dispatcher_send(struct cw_worker_state *w, Cachew__V1__WorkerMessage *message)
{
    if (w->session.attached)
        send_behind_hello(w, message);
}

void cw_report_elements(struct cw_worker_state *w, struct cw_wjob *job,
                        const struct cw_batch *batch)
{
    Cachew__V1__ElementsShown *shown = cw_wire_shown_new(batch, job->show_n);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    job->show_n = 0;
    shown->job_id = job->id; /* borrowed */
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_ELEMENTS_SHOWN;
    m.elements_shown = shown;
    cw_dispatcher_send(w, &m);
    cw_wire_shown_free(shown);
}

void cw_report_failed(struct cw_worker_state *w, const struct cw_wjob *job,
                      struct cw_lease_id lease, uint64_t epoch, uint64_t item,
                      const struct cw_err *error)
{
    Cachew__V1__LeaseId id = CACHEW__V1__LEASE_ID__INIT;
    id.generation = lease.generation;
    id.counter = lease.counter;
    char *msg = cw_mem_strdup(error->msg); /* a copy, since strings of protobuf-c are not const */
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    failed.lease = &id;
    failed.job_id = job->id;
    failed.epoch = epoch;
    failed.item = item;
    failed.code = error->code;
    failed.error = msg;
    failed.element = job->state == CW_WJOB_READY && cw_err_is_of_data(error->code);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_FAILED;
    m.failed = &failed;
    send_behind_hello(w, &m);
    cw_mem_free(msg);
}

void cw_report_hand_back(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                         const struct cw_set *items)
{
    if (items->n == 0)
        return;
    char *id = cw_mem_strdup(job_id);
    Cachew__V1__HandBack back = CACHEW__V1__HAND_BACK__INIT;
    back.job_id = id;
    back.epoch = epoch;
    back.items = cw_wire_set_to(items, &back.n_items);
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HAND_BACK;
    m.hand_back = &back;
    send_behind_hello(w, &m);
    cw_mem_free(back.items);
    cw_mem_free(id);
}

void cw_report_hand_back_item(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                              uint64_t item)
{
    struct cw_set one = {0};
    cw_set_add(&one, item, item + 1);
    cw_report_hand_back(w, job_id, epoch, &one);
    cw_set_fini(&one);
}

static void add_cacheable(Cachew__V1__PlanInfo *info, const struct cw_graph *graph,
                          const struct cw_plan *plan)
{
    struct cw_plan_cacheable *nodes = CW_NEW_ARRAY(struct cw_plan_cacheable, graph->n);
    for (size_t i = 0; i < graph->n; i++)
        cw_plan_cacheable(plan, i, &nodes[i]);
    cw_wire_cacheable_to(graph, nodes, info);
    cw_mem_free(nodes);
}

void cw_report_prepared(struct cw_worker_state *w, const char *job_id,
                        const struct cw_prepared_report *report)
{
    const struct cw_plan *plan = report->plan;
    char *id = cw_mem_strdup(job_id), *msg = cw_mem_strdup(plan ? "" : report->error->msg);
    cw_autofree char *relaxed = cw_mem_strdup(plan && report->relaxed ? report->relaxed : "");
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    prepared.job_id = id;
    prepared.error = msg;
    prepared.code = plan ? 0 : report->error->code;
    prepared.info = plan ? cw_wire_info_to(cw_plan_info(plan)) : NULL;
    prepared.relaxed = relaxed;
    prepared.relaxed_refused = report->relaxed_refused;
    if (plan) {
        add_cacheable(prepared.info, cw_plan_graph(plan), plan);
        prepared.info->completed = report->completed ? cw_wire_graph_to(cw_plan_graph(plan)) : NULL;
        prepared.manifest = (ProtobufCBinaryData){report->manifest->len, report->manifest->data};
    }
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PREPARED;
    m.prepared = &prepared;
    cw_dispatcher_send(w, &m);
    cw_wire_info_free(prepared.info);
    cw_mem_free(id);
    cw_mem_free(msg);
}

void cw_report_plan_opened(struct cw_worker_state *w, const char *job_id, uint64_t number,
                           const struct cw_plan *plan, const struct cw_err *error)
{
    char *id = cw_mem_strdup(job_id), *msg = cw_mem_strdup(error ? error->msg : "");
    Cachew__V1__PlanOpened opened = CACHEW__V1__PLAN_OPENED__INIT;
    opened.job_id = id;
    opened.number = number;
    opened.code = error ? error->code : 0;
    opened.error = msg;
    if (!error) {
        opened.info = cw_wire_info_to(cw_plan_info(plan));
        add_cacheable(opened.info, cw_plan_graph(plan), plan);
    }
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_PLAN_OPENED;
    m.plan_opened = &opened;
    cw_dispatcher_send(w, &m);
    cw_wire_info_free(opened.info);
    cw_mem_free(id);
    cw_mem_free(msg);
}

void cw_report_index_lease(struct cw_worker_state *w, const char *job_id, uint64_t number,
                           const char *op, const char *options, const struct cw_buf *files)
{
    cw_autofree char *id = cw_mem_strdup(job_id), *name = cw_mem_strdup(op),
                     *text = cw_mem_strdup(options);
    Cachew__V1__IndexLease lease = CACHEW__V1__INDEX_LEASE__INIT;
    lease.job_id = id;
    lease.number = number;
    lease.op = name;
    lease.options = text;
    lease.files = (ProtobufCBinaryData){files->len, files->data};
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_LEASE;
    m.index_lease = &lease;
    cw_dispatcher_send(w, &m);
}

void cw_report_index_made(struct cw_worker_state *w, const char *job_id, uint64_t number,
                          const struct cw_buf *files, const struct cw_err *error)
{
    cw_autofree char *id = cw_mem_strdup(job_id), *msg = cw_mem_strdup(files ? "" : error->msg);
    Cachew__V1__IndexMade made = CACHEW__V1__INDEX_MADE__INIT;
    made.job_id = id;
    made.number = number;
    made.code = files ? 0 : error->code;
    made.error = msg;
    if (files)
        made.files = (ProtobufCBinaryData){files->len, files->data};
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_INDEX_MADE;
    m.index_made = &made;
    cw_dispatcher_send(w, &m);
}

void cw_report_draining(struct cw_worker_state *w)
{
    Cachew__V1__Draining draining = CACHEW__V1__DRAINING__INIT;
    Cachew__V1__WorkerMessage m = CACHEW__V1__WORKER_MESSAGE__INIT;
    m.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_DRAINING;
    m.draining = &draining;
    cw_dispatcher_send(w, &m);
}
