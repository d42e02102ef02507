/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/tool/view/decision.h"
#include "wire/reply_json.h"
#include "client/tool/tool.h"
#include "client/tool/view/top.h"

void tool_top_json(const struct tool_top *top, struct cw_str *out)
{
    cw_str_addf(out, "{\"time_ms\":%lld", (long long)top->time_ms);
    cw_member_text(out, "dispatcher", top->address);
    if (top->lost || !top->info) {
        cw_member_text(out, "error", top->lost ? top->lost : "no answer");
        cw_str_add_char(out, '}');
        return;
    }
    cw_member_text(out, "version", top->info->version);
    cw_member_number(out, "generation", top->info->generation);
    cw_member_number(out, "uptime_ms", top->info->uptime_ms);
    cw_wire_fleet_member(out, top->workers);
    cw_str_add(out, ",\"jobs\":[");
    for (size_t i = 0; i < top->jobs->n_jobs; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        cw_wire_job_members(out, top->jobs->jobs[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"workers\":[");
    for (size_t i = 0; i < top->workers->n_workers; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        cw_wire_worker_members(out, top->workers->workers[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"decisions\":[");
    for (size_t i = 0; i < top->decisions->n_decisions; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        cw_wire_decision_json(top->decisions->decisions[i], out);
    }
    cw_str_add(out, "]}");
}
