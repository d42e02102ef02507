/* SPDX-License-Identifier: Apache-2.0 */
/* cachew jobs: lists the jobs of a dispatcher. */
#include <inttypes.h>
#include <string.h>

#include "wire/reply_json.h"
#include "client/tool/view/usage.h"

static const char *const heads[] = {"JOB",     "NAME",     "TENANT", "STATE",          "EPOCH",
                                    "BATCHES", "ELEMENTS", "BYTES",  "CLIENTS",        "WAITS",
                                    "HITS",    "WORKERS",  "SHARE",  TOOL_USAGE_HEADS, "ERROR"};

/* A name with WORKERS and CLIENTS is what a narrow terminal has room for. */
static const char *const drop[] = {"COST",   "WORKER TIME", "BYTES", "ELEMENTS", "CPU", "SHARE",
                                   "TENANT", "HITS",        "WAITS", "CLIENTS",  NULL};

static void add_cells(struct tool_table *table, const void *reply, size_t i)
{
    const Cachew__V1__JobRow *job = ((const Cachew__V1__ListJobsReply *)reply)->jobs[i];
    CW_STR_AUTO elements = {0};
    CW_STR_AUTO bytes = {0};
    tool_print_count((double)job->elements, &elements);
    tool_print_bytes((double)job->bytes, &bytes);
    tool_table_add(table, "%s", job->job_id);
    tool_table_add(table, "%s", *job->name ? job->name : "-");
    tool_table_add(table, "%s", job->tenant);
    tool_table_add(table, "%s", job->state);
    if (job->epochs)
        tool_table_add(table, "%" PRIu64 "/%" PRIu64, job->epoch, job->epochs);
    else
        tool_table_add(table, "%" PRIu64, job->epoch);
    /* The epoch that a job is in when it is over has not begun. */
    const bool over = strcmp(job->state, "finished") == 0;
    tool_table_add(table, "%" PRIu64 "/%" PRIu64, over ? job->items : job->consumed, job->items);
    tool_table_add(table, "%s", cw_str_text(&elements));
    tool_table_add(table, "%s", cw_str_text(&bytes));
    tool_table_add(table, "%u", job->clients);
    tool_table_add(table, "%.0f%%", 100 * job->wait_share);
    /* A job without hits and without automatic caching has nothing to show here. */
    if (job->hits > 0 || *job->autocache)
        tool_table_add(table, "%.0f%%", 100 * job->hit_share);
    else
        tool_table_add(table, "-");
    tool_table_add(table, "%u", job->assigned);
    tool_table_add(table, "%.2f", job->granted);
    tool_usage_cells(table, job->usage);
    tool_table_add(table, "%s", *job->error ? job->error : "-");
}

static void add_members(struct cw_str *out, const void *reply, size_t i)
{
    cw_wire_job_members(out, ((const Cachew__V1__ListJobsReply *)reply)->jobs[i]);
}

static void warn_of_files(const Cachew__V1__ListJobsReply *reply)
{
    for (size_t i = 0; i < reply->n_jobs; i++)
        if (reply->jobs[i]->other_files_n > 0)
            fprintf(stderr,
                    "cachew: job %s: %u of its workers get nothing of it, since they see other "
                    "files than it was prepared with: %s\n",
                    reply->jobs[i]->job_id, reply->jobs[i]->other_files_n,
                    reply->jobs[i]->other_files);
}

static void tell_waits(const Cachew__V1__ListJobsReply *reply)
{
    for (size_t i = 0; i < reply->n_jobs; i++)
        if (*reply->jobs[i]->waits_for)
            fprintf(stderr, "cachew: job %s: a trainer has waited for %.1f s: %s\n",
                    reply->jobs[i]->job_id, (double)reply->jobs[i]->waits_ms / 1e3,
                    reply->jobs[i]->waits_for);
}

/* Leaves those that are over out of the list. */
static void keep_running(Cachew__V1__ListJobsReply *reply)
{
    size_t n = 0;
    for (size_t i = 0; i < reply->n_jobs; i++) {
        Cachew__V1__JobRow *job = reply->jobs[i];
        if (strcmp(job->state, "finished") != 0 && strcmp(job->state, "failed") != 0) {
            reply->jobs[i] = reply->jobs[n]; /* which is over, or the same */
            reply->jobs[n++] = job;
        }
    }
    for (size_t i = n; i < reply->n_jobs; i++)
        protobuf_c_message_free_unpacked(&reply->jobs[i]->base, NULL);
    reply->n_jobs = n;
}

int tool_cmd_jobs(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool json = false, running = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"running", 0, CW_ARG_FLAG, &running, NULL, "without those that are over", 0, 0},
        TOOL_ROW_JSON(&json, "print one JSON line a job"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew jobs",
        .usage = "[options]",
        .about =
            "Lists the jobs of a dispatcher: state, epoch, batches consumed of the epoch, what was "
            "computed, clients, the share of time that trainers waited, and that of elements that "
            "came from the cache, workers and the share of their time that the job has, and what "
            "it has used.",
        .rows = rows};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "", NULL, 0, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/ListJobs", &request.base,
                        &cachew__v1__list_jobs_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    if (running)
        keep_running((Cachew__V1__ListJobsReply *)(void *)message);
    const struct tool_listing listing = {heads, CW_ARRAY_LEN(heads), add_cells, add_members, drop};
    tool_listing_print(&listing, message,
                       ((const Cachew__V1__ListJobsReply *)(const void *)message)->n_jobs, json);
    warn_of_files((const Cachew__V1__ListJobsReply *)(const void *)message);
    if (!json)
        tell_waits((const Cachew__V1__ListJobsReply *)(const void *)message);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
