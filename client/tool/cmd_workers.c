/* SPDX-License-Identifier: Apache-2.0 */
/* cachew workers: the fleet of a dispatcher. */
#include <inttypes.h>
#include <string.h>

#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

static void print_json_row(const Cachew__V1__WorkerRow *worker)
{
    CW_STR_AUTO out = {0};
    cw_str_addf(&out, "{\"id\":\"%016" PRIx64 "\",\"address\":", worker->worker_id);
    cw_str_add_json(&out, worker->address, strlen(worker->address));
    cw_str_add(&out, ",\"host\":");
    cw_str_add_json(&out, worker->host_id, strlen(worker->host_id));
    cw_str_addf(&out,
                ",\"state\":\"%s\",\"threads\":%u,\"pid\":%u,\"leased\":%" PRIu64 ",\"done\":%" PRIu64
                ",\"budget_bytes\":%" PRIu64 ",\"budget_used\":%" PRIu64 ",\"cpu_share\":%.4f,\"silent_ms\":%u,\"version\":\"%s\"}",
                worker->state, worker->threads, worker->pid, worker->leased, worker->done, worker->budget_bytes,
                worker->budget_used, worker->cpu_share, worker->silent_ms, worker->version);
    puts(cw_str_text(&out));
}

static void print_table(const Cachew__V1__ListWorkersReply *reply)
{
    static const char *const heads[] = {"WORKER", "ADDRESS", "STATE", "THREADS", "PID", "IN HAND", "DONE", "CPU", "MEMORY"};
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < reply->n_workers; i++) {
        const Cachew__V1__WorkerRow *worker = reply->workers[i];
        CW_STR_AUTO memory = {0};
        tool_print_bytes((double)worker->budget_used, &memory);
        cw_str_add(&memory, " of ");
        tool_print_bytes((double)worker->budget_bytes, &memory);
        tool_table_add(&table, "%016" PRIx64, worker->worker_id);
        tool_table_add(&table, "%s", worker->address);
        tool_table_add(&table, "%s", worker->state);
        tool_table_add(&table, "%u", worker->threads);
        tool_table_add(&table, "%u", worker->pid);
        tool_table_add(&table, "%" PRIu64, worker->leased);
        tool_table_add(&table, "%" PRIu64, worker->done);
        tool_table_add(&table, "%.0f%%", 100 * worker->cpu_share);
        tool_table_add(&table, "%s", cw_str_text(&memory));
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

int tool_cmd_workers(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool json = false;
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &dispatcher, "ADDRESS", "HOST:PORT or unix:/path (default: $CACHEW_DISPATCHER)", 0, 0},
        {"json", 0, CW_ARG_FLAG, &json, NULL, "print one JSON line a worker", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew workers",
                                      .usage = "[options]",
                                      .about = "Lists the workers of a dispatcher: address, state, batches leased and computed, load, and "
                                               "memory in use of the budget.",
                                      .rows = rows};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, NULL, 0, &n, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__ListWorkersRequest request = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/ListWorkers", &request.base,
                        &cachew__v1__list_workers_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    const Cachew__V1__ListWorkersReply *reply = (const Cachew__V1__ListWorkersReply *)(const void *)message;
    for (size_t i = 0; json && i < reply->n_workers; i++)
        print_json_row(reply->workers[i]);
    if (!json)
        print_table(reply);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
