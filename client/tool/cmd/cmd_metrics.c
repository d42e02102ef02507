/* SPDX-License-Identifier: Apache-2.0 */
/* cachew metrics: prints the counters of a dispatcher, in Prometheus' text format. */
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"

int tool_cmd_metrics(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher();
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&dispatcher),
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew metrics",
                                      .usage = "[options]",
                                      .about = "Prints what a dispatcher counts, and what workers "
                                               "and trainers told it, in Prometheus' text format.",
                                      .rows = rows};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "", NULL, 0, &code))
        return code;
    struct cw_err err = {0};
    Cachew__V1__GetMetricsRequest request = CACHEW__V1__GET_METRICS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    if (tool_admin_call(dispatcher, "/cachew.v1.Admin/GetMetrics", &request.base,
                        &cachew__v1__get_metrics_reply__descriptor, &message, &err) < 0)
        return tool_fail_err(&err);
    fputs(((const Cachew__V1__GetMetricsReply *)(const void *)message)->text, stdout);
    protobuf_c_message_free_unpacked(message, NULL);
    return TOOL_OK;
}
