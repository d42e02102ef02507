/* SPDX-License-Identifier: Apache-2.0 */
/* What Admin.Explain answers, as JSON. */
#include "base/json_member.h"
#include "wire/reply_json.h"

static void print_list(struct cw_str *out, Cachew__V1__Decision *const *decisions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        cw_wire_decision_json(decisions[i], out);
    }
}

void cw_wire_explain_json(const Cachew__V1__ExplainReply *reply, struct cw_str *out)
{
    cw_str_add_char(out, '{');
    cw_member_text(out, "job", reply->job->job_id);
    cw_member_text(out, "name", reply->job->name);
    cw_member_number(out, "epoch", reply->job->epoch);
    cw_member_number(out, "epochs", reply->job->epochs);
    cw_member_text(out, "policy", reply->policy);
    cw_member_number(out, "hits", reply->hits);
    cw_member_text(out, "cache", reply->job->cache);
    cw_str_add(out, ",\"standing\":{");
    cw_wire_job_members(out, reply->job);
    cw_str_addf(out, "},\"bad_n\":%llu,\"bad\":[", (unsigned long long)reply->bad_n);
    for (size_t i = 0; i < reply->n_bad; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        cw_wire_bad_members(out, reply->bad[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"windows\":[");
    for (size_t i = 0; i < reply->n_windows; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        cw_wire_window_members(out, reply->windows[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"operators\":[");
    for (size_t i = 0; i < reply->n_nodes; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        cw_wire_node_members(out, reply->nodes[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"says\":[");
    print_list(out, reply->says, reply->n_says);
    cw_str_add_char(out, ']');
    cw_str_addf(out, ",\"decided\":%s,\"now\":", reply->decided ? "true" : "false");
    if (reply->now)
        cw_wire_decision_json(reply->now, out);
    else
        cw_str_add(out, "null");
    cw_str_add(out, ",\"decisions\":[");
    print_list(out, reply->decisions, reply->n_decisions);
    cw_str_add(out, "]}");
}
