/* SPDX-License-Identifier: Apache-2.0 */
/* cachew skip JOB RANGE: skips batches of a job. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/job.h"
#include "client/tool/tool.h"

/* Parses "7" or "10-20", both ends included, to [lo, hi). */
static bool parse_range(const char *text, uint64_t *ret_lo, uint64_t *ret_hi)
{
    cw_autofree char *first = cw_mem_strdup(text);
    char *dash = strchr(first, '-');
    const char *last = dash ? dash + 1 : first;
    uint64_t lo, end;
    if (dash)
        *dash = 0;
    if (!cw_str_to_u64(first, &lo) || !cw_str_to_u64(last, &end) || end < lo || end == UINT64_MAX)
        return false;
    *ret_lo = lo;
    *ret_hi = end + 1;
    return true;
}

static int skip(const char *dispatcher, const char *job, uint64_t lo, uint64_t hi, uint64_t epoch)
{
    struct cw_err err = {0};
    Cachew__V1__SkipItemsRequest request = CACHEW__V1__SKIP_ITEMS_REQUEST__INIT;
    cw_autofree char *name = cw_mem_strdup(job);
    ProtobufCMessage *message = NULL;
    request.job = name;
    request.epoch = epoch;
    request.lo = lo;
    request.hi = hi;
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/SkipItems", &request.base,
                          &cachew__v1__skip_items_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    const Cachew__V1__SkipItemsReply *reply =
        (const Cachew__V1__SkipItemsReply *)(const void *)message;
    printf("job %s, epoch %" PRIu64 ": left out: %" PRIu64 "\n", job, epoch, reply->skipped);
    if (reply->consumed)
        printf("the trainer has consumed %" PRIu64
               " of them: they are left out when it goes back to before them\n",
               reply->consumed);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}

int tool_cmd_skip(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    int64_t epoch = -1;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"epoch", 'e', CW_ARG_I64, &epoch, "E",
         "of this epoch (default: the one that the job is in)", 0, 9e18},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew skip",
        .usage = "JOB RANGE [options]",
        .about = "Leaves batches of a job out, for as long as there is the job: RANGE is a number, "
                 "or FIRST-LAST. The others keep their "
                 "numbers and bytes. What the trainer's process holds already still comes; what it "
                 "has consumed is left out when it "
                 "goes back to before it (a resume from a checkpoint).",
        .rows = rows,
        .tail = "examples:\n  cachew skip resnet 120 --dispatcher host:7070\n  cachew skip resnet "
                "120-139 --epoch 3 --dispatcher host:7070\n",
    };
    const char *words[2];
    int code = 0;
    uint64_t lo = 0, hi = 0;
    if (!tool_parse_words(&spec, argc, argv, "which batches?", words, 2, &code))
        return code;
    if (!parse_range(words[1], &lo, &hi))
        return tool_fail("\"%s\" is no range of batches: give a number, or FIRST-LAST", words[1]),
               TOOL_USAGE;
    struct cw_err err = {0};
    struct tool_job job;
    if (epoch < 0) {
        if (tool_job_get(dispatcher, words[0], &job, &err) < 0)
            return tool_fail_err(&err);
        epoch = (int64_t)tool_job_epoch(&job);
        tool_job_fini(&job);
    }
    return skip(dispatcher, words[0], lo, hi, (uint64_t)epoch);
}
