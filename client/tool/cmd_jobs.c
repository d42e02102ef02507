/* SPDX-License-Identifier: Apache-2.0 */
/* cachew jobs: what a dispatcher has in hand. */
#include <inttypes.h>
#include <string.h>

#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

static void print_json_row(const Cachew__V1__JobRow *job)
{
    CW_STR_AUTO out = {0};
    const struct {
        const char *key, *text;
    } texts[] = {{"id", job->job_id}, {"name", job->name}, {"state", job->state}, {"error", job->error},
                 {"fingerprint", job->fingerprint}, {"tenant", job->tenant}};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        cw_str_addf(&out, "%s\"%s\":", i ? "," : "{", texts[i].key);
        cw_str_add_json(&out, texts[i].text, strlen(texts[i].text));
    }
    const struct {
        const char *key;
        uint64_t number;
    } numbers[] = {{"seed", job->seed}, {"epoch", job->epoch}, {"epochs", job->epochs}, {"items", job->items},
                   {"consumed", job->consumed}, {"elements", job->elements}, {"bytes", job->bytes},
                   {"skipped", job->skipped}, {"skipped_items", job->skipped_items}, {"clients", job->clients},
                   {"consumers", job->consumers}, {"recomputed", job->recomputed}, {"hedged", job->hedged}, {"shared", job->shared}};
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        cw_str_addf(&out, ",\"%s\":%" PRIu64, numbers[i].key, numbers[i].number);
    cw_str_addf(&out, ",\"wait_share\":%.4f,\"cpu_seconds\":%.3f}", job->wait_share, (double)job->cpu_ns / 1e9);
    puts(cw_str_text(&out));
}

static void print_table(const Cachew__V1__ListJobsReply *reply)
{
    static const char *const heads[] = {"JOB", "NAME", "STATE", "EPOCH", "BATCHES", "ELEMENTS", "BYTES", "CLIENTS", "WAITS", "ERROR"};
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < reply->n_jobs; i++) {
        const Cachew__V1__JobRow *job = reply->jobs[i];
        CW_STR_AUTO elements = {0};
        CW_STR_AUTO bytes = {0};
        tool_print_count((double)job->elements, &elements);
        tool_print_bytes((double)job->bytes, &bytes);
        tool_table_add(&table, "%s", job->job_id);
        tool_table_add(&table, "%s", *job->name ? job->name : "-");
        tool_table_add(&table, "%s", job->state);
        if (job->epochs)
            tool_table_add(&table, "%" PRIu64 "/%" PRIu64, job->epoch, job->epochs);
        else
            tool_table_add(&table, "%" PRIu64, job->epoch);
        tool_table_add(&table, "%" PRIu64 "/%" PRIu64, job->consumed, job->items);
        tool_table_add(&table, "%s", cw_str_text(&elements));
        tool_table_add(&table, "%s", cw_str_text(&bytes));
        tool_table_add(&table, "%u", job->clients);
        tool_table_add(&table, "%.0f%%", 100 * job->wait_share);
        tool_table_add(&table, "%s", *job->error ? job->error : "-");
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

int tool_cmd_jobs(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool json = false;
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &dispatcher, "ADDRESS", "HOST:PORT or unix:/path (default: $CACHEW_DISPATCHER)", 0, 0},
        {"json", 0, CW_ARG_FLAG, &json, NULL, "print one JSON line a job", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew jobs",
                                      .usage = "[options]",
                                      .about = "Lists the jobs of a dispatcher: state, epoch, batches consumed of the epoch, what was "
                                               "computed, clients, and the share of time that trainers waited.",
                                      .rows = rows};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, NULL, 0, &n, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/ListJobs", &request.base, &cachew__v1__list_jobs_reply__descriptor,
                        &message, &err) < 0)
        return tool_fail_err(&err);
    const Cachew__V1__ListJobsReply *reply = (const Cachew__V1__ListJobsReply *)(const void *)message;
    for (size_t i = 0; json && i < reply->n_jobs; i++)
        print_json_row(reply->jobs[i]);
    if (!json)
        print_table(reply);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
