/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of cachew explain FILE.json. */
#include <stdio.h>
#include <string.h>

#include "client/tool/tool.h"
#include "client/tool/view/explain_plan.h"

static void add_names(const struct tool_explained *e, const size_t *places, size_t n,
                      struct cw_str *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = tool_explained_node(e, places[i])->name;
        cw_str_add(out, i ? "," : "");
        cw_str_add_json(out, name, strlen(name));
    }
}

static void add_numbers(const struct cw_optimize_row *row, struct cw_str *out)
{
    cw_member_real(out, "rows", row->rows);
    cw_member_real(out, "bytes", row->bytes);
    cw_member_real(out, "ns", row->ns);
    cw_member_real(out, "cpu_ns", row->cpu_ns);
    cw_member_real(out, "share", row->share);
}

static void add_measured(const struct tool_explained *e, size_t place, struct cw_str *out)
{
    const struct tool_measured_node *measured = tool_explained_measured(e, place);

    if (!measured)
        return;
    cw_str_addf(out, ",\"many_rows\":%s,\"makes_part\":%s,\"measured\":{",
                measured->by_block ? "true" : "false", measured->makes_part ? "true" : "false");
    add_numbers(&e->measured_rows[place], out);
    cw_str_add(out, "}");
}

static void add_nodes(const struct tool_explained *e, struct cw_str *out)
{
    const struct tool_planned *p = &e->planned;
    const struct cw_optimize_plan *plan = &p->found.plan;

    for (size_t i = 0; i < p->problem.n; i++) {
        size_t place = plan->order[i];
        const struct cw_node *node = tool_explained_node(e, place);
        CW_STR_AUTO spec = {0};
        cw_str_add(out, i ? ",{" : "{");
        cw_member_text(out, "name", node->name);
        cw_member_text(out, "op", node->op);
        cw_spec_print(&p->checked->nodes[p->map.nodes[place]].out, &spec);
        cw_member_text(out, "gives_as_written", cw_str_text(&spec));
        cw_str_addf(out, ",\"moved\":%s,\"cached\":%s,\"folded\":%s", place != i ? "true" : "false",
                    i == plan->cache_after ? "true" : "false",
                    cw_optimize_is_folded(&p->problem, plan, i) ? "true" : "false");
        if (e->planned.has_costs)
            add_numbers(&e->rows[i], out);
        add_measured(e, i, out);
        cw_str_add(out, "}");
    }
}

static void add_bound(const struct tool_explained *e, struct cw_str *out)
{
    cw_member_text(out, "name", tool_bound_name(e->planned.found.plan.bound));
    cw_member_real(out, "threads", e->planned.problem.threads);
    cw_member_real(out, "cores", e->planned.problem.cores);
    for (size_t i = 0; i < CW_BOUNDS_N; i++) {
        CW_STR_AUTO key = {0};
        cw_str_addf(&key, "%s_ns", tool_bound_name((enum cw_optimize_bound)i));
        cw_member_real(out, cw_str_text(&key), e->epoch.bound_ns[i]);
    }
}

static void add_pairs(const struct tool_explained *e, struct cw_str *out)
{
    bool is_first = true;

    for (size_t i = 1; i < e->planned.problem.n; i++) {
        const char *why = tool_planned_why_not(&e->planned, e->relaxed, i - 1, i);
        if (!why)
            continue;
        cw_str_add(out, is_first ? "{" : ",{");
        is_first = false;
        cw_member_text(out, "down", tool_explained_node(e, i - 1)->name);
        cw_member_text(out, "up", tool_explained_node(e, i)->name);
        cw_member_text(out, "why", why);
        cw_str_add(out, "}");
    }
}

static void add_what_if(const struct tool_explained *e, const struct cw_what_if *it,
                        struct cw_str *out)
{
    CW_STR_AUTO what = {0};

    tool_what_if_text(e, it, &what);
    cw_member_text(out, "what", cw_str_text(&what));
    cw_member_real(out, "epoch_ns", it->plan.epoch_ns);
    cw_member_real(out, "total_ns", it->plan.total_ns);
    cw_member_real(out, "cpu_ns", it->epoch.cpu_ns);
    cw_member_real(out, "beside_cpu_ns", it->beside_cpu_ns);
    cw_member_real(out, "network_bytes", it->epoch.network_bytes);
    cw_member_real(out, "money", it->epoch.money);
    cw_member_text(out, "bound", tool_bound_name(it->plan.bound));
    cw_str_add(out, ",\"order\":[");
    add_names(e, it->plan.order, e->planned.problem.n, out);
    cw_str_add(out, "],\"cache\":");
    const char *cached = cw_optimize_cached_name(&e->planned.problem, &it->plan);
    if (cached)
        cw_str_add_json(out, cached, strlen(cached));
    else
        cw_str_add(out, "null");
    cw_str_addf(out, ",\"workers\":{\"remote\":%u,\"local\":%u}", it->plan.remote, it->plan.local);
}

static void add_rejected(const struct tool_explained *e, struct cw_str *out)
{
    const struct tool_planned *p = &e->planned;

    for (size_t i = 0; i < p->rejected_n; i++) {
        CW_STR_AUTO what = {0};
        tool_rejected_text(p, &p->rejected[i], &what);
        cw_str_add(out, i ? ",{" : "{");
        cw_member_text(out, "what", cw_str_text(&what));
        cw_member_real(out, "total_ns", p->rejected[i].plan.total_ns);
        cw_member_real(out, "epoch_ns", p->rejected[i].plan.epoch_ns);
        cw_str_add(out, "}");
    }
}

void tool_explain_plan_members(const struct tool_plan_options *options,
                               const struct tool_explained *e, struct cw_str *out)
{
    cw_str_add(out, "\"plan\":");
    tool_plan_json(options, &e->planned, out);
    cw_str_add(out, ",\"nodes\":[");
    add_nodes(e, out);
    cw_str_add(out, "],\"bound\":{");
    add_bound(e, out);
    cw_str_add(out, "},\"rejected\":[");
    add_rejected(e, out);
    cw_str_add(out, "],\"pairs\":[");
    add_pairs(e, out);
    cw_str_add(out, "],\"what_if\":[");
    for (size_t i = 0; i < e->what_if_n; i++) {
        cw_str_add(out, i ? ",{" : "{");
        add_what_if(e, &e->what_if[i], out);
        cw_str_add(out, "}");
    }
    cw_str_add(out, "]");
    if (e->measured.elements_s > 0)
        cw_str_addf(out,
                    ",\"run\":{\"predicted_s\":%.9g,\"measured_s\":%.9g,\"predicted_cpu_ns\":%.9g,"
                    "\"measured_cpu_ns\":%.9g}",
                    e->predicted_s, e->measured.elements_s, e->planned.found.plan.cpu_ns,
                    e->measured.cpu_ns);
}
