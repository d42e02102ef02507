/* SPDX-License-Identifier: Apache-2.0 */
/* cachew replan JOB FILE.json: has a job compute its operators in another order. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "graph/graph.h"
#include "wire/wire.h"

#define LOOK_MS 50

static int ask(const char *dispatcher, char *job, Cachew__V1__Graph *graph, uint64_t *ret_number,
               struct cw_err *err)
{
    Cachew__V1__ReplanJobRequest request = CACHEW__V1__REPLAN_JOB_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    request.job = job;
    request.graph = graph;
    int rc = tool_admin_change(dispatcher, "/cachew.v1.Admin/ReplanJob", &request.base,
                               &cachew__v1__replan_job_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    *ret_number = ((const Cachew__V1__ReplanJobReply *)(const void *)message)->number;
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}

/* Looks how far the plan is. Returns 1 when it is used, 0 if it is on its way, or an error. */
static int look(const char *dispatcher, char *job, uint64_t number, struct cw_err *err)
{
    Cachew__V1__GetJobRequest request = CACHEW__V1__GET_JOB_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    request.job = job;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/GetJob", &request.base,
                             &cachew__v1__get_job_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    const Cachew__V1__JobRow *row = ((const Cachew__V1__GetJobReply *)(const void *)message)->job;
    if (row && row->plan >= number)
        rc = 1;
    else if (!row || row->next_plan != number)
        rc = cw_err_set(err, CW_E_INVALID, "plan %" PRIu64 " is dropped: %s", number,
                        row && row->plan_error[0] ? row->plan_error : "the dispatcher forgot it");
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

static int await(const char *dispatcher, char *job, uint64_t number, int64_t wait_s)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    int64_t until_ms = cw_clock_ms() + wait_s * 1000;
    struct cw_err err = {0};
    int rc = 0;
    while ((rc = look(dispatcher, job, number, &err)) == 0 && cw_clock_ms() < until_ms)
        (void)nanosleep(&pause, NULL);
    if (rc < 0)
        return tool_fail_err(&err);
    printf("job %s: plan %" PRIu64 " is %s\n", job, number, rc > 0 ? "used" : "on its way");
    return TOOL_OK;
}

static int replan(const char *dispatcher, const char *name, const struct cw_graph *graph,
                  int64_t wait_s)
{
    cw_autofree char *job = cw_mem_strdup(name);
    struct cw_err err = {0};
    uint64_t number = 0;
    Cachew__V1__Graph *message = graph ? cw_wire_graph_to(graph) : NULL;
    int rc = ask(dispatcher, job, message, &number, &err);
    if (message)
        cw_wire_graph_free(message);
    return rc < 0 ? tool_fail_err(&err) : await(dispatcher, job, number, wait_s);
}

int tool_cmd_replan(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *file = NULL;
    int64_t wait_s = 10;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"pipeline", 'p', CW_ARG_STR, &file, "FILE",
         "the job's pipeline with its nodes in another order (default: as the job was given)", 0,
         0},
        {"wait", 'w', CW_ARG_I64, &wait_s, "S",
         "wait so many seconds until the plan is used or dropped (default: 10)", 0, 86400},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew replan",
        .usage = "JOB [options]",
        .about = "Has a running job compute its operators in another order. No batch changes by "
                 "that: nodes keep their names, operators and options, and an order that could "
                 "change a batch is refused. One worker tries the plan, then all change over, in "
                 "the middle of the batches that they have in hand.",
        .rows = rows,
        .tail = "examples:\n  cachew replan resnet --pipeline crop_first.json --dispatcher "
                "host:7070\n  cachew replan resnet --dispatcher host:7070\n",
    };
    const char *words[1];
    int code = 0;
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    if (!tool_parse_words(&spec, argc, argv, "which job?", words, 1, &code))
        return code;
    if (file && cw_graph_load(file, &graph, &err) != 0)
        return tool_fail_err(&err);
    code = replan(dispatcher, words[0], graph, wait_s);
    cw_graph_unref(graph);
    return code;
}
