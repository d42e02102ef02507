/* SPDX-License-Identifier: Apache-2.0 */
/* cachew remove JOB: ends a job for good. */
#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

int tool_cmd_remove(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew remove",
                                      .usage = "JOB [options]",
                                      .about = "Ends a job, given by name or id, and forgets where "
                                               "it stood. Its clients get an error.",
                                      .rows = rows};
    const char *names[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which job?", names, 1, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__RemoveJobRequest request = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;
    cw_autofree char *name = cw_mem_strdup(names[0]);
    ProtobufCMessage *message = NULL;
    request.job = name;
    if (tool_admin_change(dispatcher, "/cachew.v1.Admin/RemoveJob", &request.base,
                          &cachew__v1__remove_job_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    protobuf_c_message_free_unpacked(message, NULL);
    printf("job %s is removed\n", name);
    return TOOL_OK;
}
