/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/decision.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "client/tool/tool.h"

int tool_explain_get(const char *dispatcher, const char *job, Cachew__V1__ExplainReply **ret_reply,
                     struct cw_err *err)
{
    cw_autofree char *name = cw_mem_strdup(job);
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    request.job = name;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/Explain", &request.base,
                             &cachew__v1__explain_reply__descriptor, &message, err);
    if (rc == 0)
        *ret_reply = (Cachew__V1__ExplainReply *)(void *)message;
    return rc;
}

void tool_explain_free(Cachew__V1__ExplainReply *reply)
{
    if (reply)
        protobuf_c_message_free_unpacked(&reply->base, NULL);
}

void tool_decision_text(const Cachew__V1__Decision *decision, struct cw_str *out)
{
    const char *job = decision->job_name[0] != '\0' ? decision->job_name : decision->job_id;
    tool_print_moment(decision->time_ms, out);
    if (job[0] != '\0')
        cw_str_addf(out, "  %s epoch %llu", job, (unsigned long long)decision->epoch);
    cw_str_addf(out, "  %s %s: %s: %s", decision->kind, decision->policy,
                decision->choice[0] != '\0' ? decision->choice : "nothing", decision->reason);
}

void tool_print_moment(int64_t wall_ms, struct cw_str *out)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    char text[32] = "-";
    if (localtime_r(&seconds, &parts))
        (void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
    cw_str_add(out, text);
}
