/* SPDX-License-Identifier: Apache-2.0 */
/* cachew workers: lists the workers of a dispatcher. */
#include <inttypes.h>

#include "cachew/v1/admin.pb-c.h"
#include "wire/reply_json.h"
#include "client/tool/tool.h"

static const char *const heads[] = {"WORKER",  "ADDRESS", "STATE", "THREADS", "PID",
                                    "IN HAND", "DONE",    "CPU",   "HOST",    "LOAD",
                                    "MEMORY",  "POD",     "NODE"};

#define WAITING_SHOWN 20 /* pods */
#define HEADS_PLAIN (CW_ARRAY_LEN(heads) - 2)

/* Whether POD and NODE are shown: some worker has said one. */
static bool has_pods(const Cachew__V1__ListWorkersReply *reply)
{
    for (size_t i = 0; i < reply->n_workers; i++)
        if (*reply->workers[i]->pod_name || *reply->workers[i]->node_name)
            return true;
    return false;
}

static const char *const drop[] = {"PID", "LOAD", "HOST", "THREADS", "MEMORY", NULL};

static void add_cells(struct tool_table *table, const void *reply, size_t i)
{
    const Cachew__V1__WorkerRow *worker = ((const Cachew__V1__ListWorkersReply *)reply)->workers[i];
    CW_STR_AUTO memory = {0};
    tool_print_bytes((double)worker->budget_used, &memory);
    cw_str_add(&memory, " of ");
    tool_print_bytes((double)worker->budget_bytes, &memory);
    tool_table_add(table, "%016" PRIx64, worker->worker_id);
    tool_table_add(table, "%s", worker->address);
    tool_table_add(table, "%s", worker->state);
    tool_table_add(table, "%u", worker->threads);
    tool_table_add(table, "%u", worker->pid);
    tool_table_add(table, "%" PRIu64, worker->leased);
    tool_table_add(table, "%" PRIu64, worker->done);
    tool_table_add(table, "%.0f%%", 100 * worker->cpu_share);
    if (worker->host_cpus > 0) {
        tool_table_add(table, "%.0f%%", 100 * worker->host_cpu_share);
        tool_table_add(table, "%.2f", worker->host_load);
    } else {
        tool_table_add(table, "-");
        tool_table_add(table, "-");
    }
    tool_table_add(table, "%s", cw_str_text(&memory));
    if (!has_pods(reply))
        return;
    tool_table_add(table, "%s", *worker->pod_name ? worker->pod_name : "-");
    tool_table_add(table, "%s", *worker->node_name ? worker->node_name : "-");
}

static void add_members(struct cw_str *out, const void *reply, size_t i)
{
    cw_wire_worker_members(out, ((const Cachew__V1__ListWorkersReply *)reply)->workers[i]);
}

static void warn_of_generation(const Cachew__V1__ListWorkersReply *reply)
{
    if (reply->generation_seen <= reply->generation)
        return;
    fprintf(stderr,
            "cachew: workers or trainers have seen generation %" PRIu64
            ", this dispatcher has %" PRIu64 ", and they obey the highest.\n"
            "If its state is an older copy, start it again with --generation-above %" PRIu64
            "; they come back by themselves.\n",
            reply->generation_seen, reply->generation, reply->generation_seen);
}

static void warn_of_files(const Cachew__V1__ListWorkersReply *reply)
{
    for (size_t i = 0; i < reply->n_workers; i++)
        if (reply->workers[i]->other_files[0] != '\0')
            fprintf(stderr,
                    "cachew: it gets nothing of job %s, since it sees other files than the job was "
                    "prepared with: %s\n",
                    reply->workers[i]->other_files_job, reply->workers[i]->other_files);
}

static void warn_of_unreachable(const Cachew__V1__ListWorkersReply *reply)
{
    for (size_t i = 0; i < reply->n_workers; i++)
        if (*reply->workers[i]->unreachable)
            fprintf(stderr,
                    "cachew: worker %s cannot be reached by a client of job %s, and gets nothing "
                    "for it: %s\n",
                    reply->workers[i]->address, reply->workers[i]->unreachable_job,
                    reply->workers[i]->unreachable);
}

static void warn_of_deployments(const Cachew__V1__ListWorkersReply *reply)
{
    for (size_t i = 0; i < reply->n_deployments; i++) {
        const Cachew__V1__DeploymentRow *row = reply->deployments[i];
        if (*row->state || row->waiting > 0 || row->asked != row->wanted)
            fprintf(stderr,
                    "cachew: Deployment %s: %" PRIu64 " pods wanted, %" PRIu64
                    " asked for, %" PRIu64 " ready, %" PRIu64 " wait%s%s\n",
                    row->name, row->wanted, row->asked, row->ready, row->waiting,
                    *row->state ? "; " : "", row->state);
    }
}

static void warn_of_waiting(const Cachew__V1__ListWorkersReply *reply)
{
    for (size_t i = 0; i < reply->n_waiting && i < WAITING_SHOWN; i++) {
        const Cachew__V1__WaitingPodRow *row = reply->waiting[i];
        fprintf(stderr, "cachew: %s%s of Deployment %s wait%s for %" PRIu64 " s%s: %s%s%s\n",
                *row->pod ? "pod " : "pods that cannot be made", row->pod, row->deployment,
                *row->pod ? "s" : "", row->waits_ms / 1000,
                row->not_to_be_had ? ", not to be had" : "", row->reason, *row->message ? ": " : "",
                row->message);
    }
    if (reply->n_waiting > WAITING_SHOWN)
        fprintf(stderr, "cachew: %zu more wait\n", reply->n_waiting - WAITING_SHOWN);
}

int tool_cmd_workers(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool json = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        TOOL_ROW_JSON(&json, "print one JSON line a worker"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew workers",
        .usage = "[options]",
        .about =
            "Lists the workers of a dispatcher: address, state, batches leased and computed, CPU "
            "of its threads, CPU of its "
            "host that all use together, load of a host's CPU, memory in use of the budget, "
            "and pod and node where workers run in pods.",
        .rows = rows};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "", NULL, 0, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/ListWorkers", &request.base,
                        &cachew__v1__list_workers_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    const size_t columns = has_pods((const Cachew__V1__ListWorkersReply *)(const void *)message)
                               ? CW_ARRAY_LEN(heads)
                               : HEADS_PLAIN;
    const struct tool_listing listing = {heads, columns, add_cells, add_members, drop};
    tool_listing_print(&listing, message,
                       ((const Cachew__V1__ListWorkersReply *)(const void *)message)->n_workers,
                       json);
    warn_of_generation((const Cachew__V1__ListWorkersReply *)(const void *)message);
    warn_of_files((const Cachew__V1__ListWorkersReply *)(const void *)message);
    warn_of_unreachable((const Cachew__V1__ListWorkersReply *)(const void *)message);
    warn_of_deployments((const Cachew__V1__ListWorkersReply *)(const void *)message);
    warn_of_waiting((const Cachew__V1__ListWorkersReply *)(const void *)message);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
