/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/decision.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "client/tool/tool.h"

int tool_explain_get(const char *dispatcher, const char *job, Cachew__V1__ExplainReply **ret_reply, struct cw_err *err)
{
    cw_autofree char *name = cw_mem_strdup(job);
    Cachew__V1__ExplainRequest request = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    request.job = name;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/Explain", &request.base, &cachew__v1__explain_reply__descriptor, &message, err);
    if (rc == 0)
        *ret_reply = (Cachew__V1__ExplainReply *)(void *)message;
    return rc;
}

void tool_explain_free(Cachew__V1__ExplainReply *reply)
{
    if (reply)
        protobuf_c_message_free_unpacked(&reply->base, NULL);
}

static void add_member(struct cw_str *out, const char *key, const char *text)
{
    cw_str_addf(out, ",\"%s\":", key);
    cw_str_add_json(out, text, strlen(text));
}

void tool_decision_json(const Cachew__V1__Decision *decision, struct cw_str *out)
{
    cw_str_addf(out, "{\"time_ms\":%lld,\"epoch\":%llu", (long long)decision->time_ms, (unsigned long long)decision->epoch);
    add_member(out, "kind", decision->kind);
    add_member(out, "policy", decision->policy);
    if (decision->choice[0] != '\0')
        add_member(out, "choice", decision->choice);
    else
        cw_str_add(out, ",\"choice\":null");
    add_member(out, "reason", decision->reason);
    cw_str_add(out, ",\"candidates\":[");
    for (size_t i = 0; i < decision->n_candidates; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        cw_str_add_json(out, decision->candidates[i], strlen(decision->candidates[i]));
    }
    cw_str_addf(out, "],\"inputs\":%s}", decision->inputs[0] != '\0' ? decision->inputs : "null");
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
