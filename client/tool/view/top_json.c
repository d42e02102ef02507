/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client/tool/view/decision.h"
#include "client/tool/view/members.h"
#include "client/tool/tool.h"
#include "client/tool/view/top.h"

static void add_fleet(const struct tool_top *top, struct cw_str *out)
{
    uint64_t ready = 0, draining = 0, threads = 0, used = 0, budget = 0;
    double cores = 0;
    for (size_t i = 0; i < top->workers->n_workers; i++) {
        const Cachew__V1__WorkerRow *w = top->workers->workers[i];
        *(strcmp(w->state, "ready") == 0 ? &ready : &draining) += 1;
        threads += w->threads;
        used += w->budget_used;
        budget += w->budget_bytes;
        cores += w->cpu_cores;
    }
    cw_str_add(out, ",\"fleet\":{");
    tool_json_text(out, "provisioner", top->workers->provisioner);
    tool_json_number(out, "ready", ready);
    tool_json_number(out, "starting", top->workers->starting);
    tool_json_number(out, "draining", draining);
    tool_json_real(out, "wanted", top->workers->wanted);
    tool_json_number(out, "min_workers", top->workers->min_workers);
    tool_json_number(out, "max_workers", top->workers->max_workers);
    tool_json_number(out, "threads", threads);
    tool_json_real(out, "cpu_cores", cores);
    tool_json_number(out, "budget_used", used);
    tool_json_number(out, "budget_bytes", budget);
    cw_str_add_char(out, '}');
}

void tool_top_json(const struct tool_top *top, struct cw_str *out)
{
    cw_str_addf(out, "{\"time_ms\":%lld", (long long)top->time_ms);
    tool_json_text(out, "dispatcher", top->address);
    if (top->lost || !top->info) {
        tool_json_text(out, "error", top->lost ? top->lost : "no answer");
        cw_str_add_char(out, '}');
        return;
    }
    tool_json_text(out, "version", top->info->version);
    tool_json_number(out, "generation", top->info->generation);
    tool_json_number(out, "uptime_ms", top->info->uptime_ms);
    add_fleet(top, out);
    cw_str_add(out, ",\"jobs\":[");
    for (size_t i = 0; i < top->jobs->n_jobs; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        tool_job_members(out, top->jobs->jobs[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"workers\":[");
    for (size_t i = 0; i < top->workers->n_workers; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        tool_worker_members(out, top->workers->workers[i]);
        cw_str_add_char(out, '}');
    }
    cw_str_add(out, "],\"decisions\":[");
    for (size_t i = 0; i < top->decisions->n_decisions; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        tool_decision_json(top->decisions->decisions[i], out);
    }
    cw_str_add(out, "]}");
}
