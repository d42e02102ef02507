/* SPDX-License-Identifier: Apache-2.0 */
/* cachew scale JOB POLICY: changes the scaling policy of a running job. */
#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

int tool_cmd_scale(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    bool place = false;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {"place", 0, CW_ARG_FLAG, &place, NULL,
         "POLICY says where they run, too: auto, pecan, fixed:R,L (remote and beside the trainer), "
         "off",
         0, 0},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew scale",
        .usage = "JOB POLICY [options]",
        .about = "Changes how many workers a running job (by name or id) has, from now on: auto, "
                 "cachew, hpa, fixed:N, or off (all of "
                 "them). What it is given stays the same. It is kept with the job, and among its "
                 "decisions.",
        .rows = rows,
        .tail = "examples:\n  cachew scale train fixed:4\n  cachew scale train auto\n  cachew "
                "scale train --place fixed:2,1\n"};
    const char *words[2];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which job, and which policy?", words, 2, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__ScaleJobRequest request = CACHEW__V1__SCALE_JOB_REQUEST__INIT;
    cw_autofree char *job = cw_mem_strdup(words[0]), *policy = cw_mem_strdup(words[1]);
    ProtobufCMessage *message = NULL;
    request.job = job;
    request.policy = policy;
    request.place = place;
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/ScaleJob", &request.base,
                          &cachew__v1__scale_job_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    protobuf_c_message_free_unpacked(message, NULL);
    printf("job %s: policy %s\n", job, policy);
    return TOOL_OK;
}
