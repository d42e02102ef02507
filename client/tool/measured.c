/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/measured.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/profile_run.h"
#include "exec/exec.h"
#include "plan/plan_nodes.h"
#include "policies/cost_line.h"

/* What calls were measured to cost, on average. */
static void set_node(const struct cw_cost_measured *cost, double bytes, double elements,
                     struct tool_measured_node *ret_node)
{
    struct cw_cost_line line;

    cw_cost_line_fit(cost, false, &line);
    ret_node->calls = cost->sums.timed;
    ret_node->ns = line.ns + line.ns_byte * line.in_bytes;
    ret_node->cpu_ns = line.cpu_ns + line.cpu_ns_byte * line.in_bytes;
    ret_node->keep = line.keep;
    ret_node->bytes = elements * line.keep > 0 ? bytes / (elements * line.keep) : 0;
}

/* ---- a run ---- */

static void take_count(const struct cw_plan_node *node, const struct cw_exec_count *count,
                       struct tool_measured_node *ret_node)
{
    const struct cw_cost_measured cost = {.elements = (double)count->elements,
                                          .cpu_ns = (double)count->cpu_ns,
                                          .wall_ns = (double)count->wall_ns,
                                          .sums = count->sums};

    ret_node->name = cw_mem_strdup(node->node->name);
    ret_node->by_block = node->many_in != NULL;
    ret_node->makes_part = node->want_n > 0;
    set_node(&cost, (double)count->element_bytes, (double)count->elements, ret_node);
}

static void take_counts(void *arg, struct cw_plan *plan)
{
    struct tool_measured *measured = arg;
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    struct cw_exec_plan_time time;

    cw_exec_counts(plan, counts);
    cw_exec_plan_time(plan, &time);
    measured->cpu_ns = (double)time.cpu_ns / (double)CW_MAX(counts[0].elements, UINT64_C(1));
    measured->n = plan->n;
    measured->nodes = CW_NEW_ARRAY(struct tool_measured_node, plan->n);
    for (size_t i = 0; i < plan->n; i++)
        take_count(&plan->nodes[i], &counts[i], &measured->nodes[i]);
}

int tool_measured_run(struct cw_checked *checked, double seconds, size_t threads,
                      struct tool_measured *ret_measured, struct cw_err *err)
{
    struct cw_cost_profile profile = {0};

    *ret_measured = (struct tool_measured){0};
    int rc =
        tool_profile_checked(checked, seconds, threads, take_counts, ret_measured, &profile, err);
    if (rc == 0)
        ret_measured->elements_s = profile.rates[profile.rates_n - 1].rate;
    cw_cost_profile_fini(&profile);
    return rc;
}

/* ---- a job ---- */

static void take_row(const Cachew__V1__NodeRow *row, struct tool_measured_node *ret_node)
{
    struct cw_cost_measured cost = {0};

    ret_node->name = cw_mem_strdup(row->name);
    if (!row->cost) /* a dispatcher of an earlier version */
        return;
    cost = (struct cw_cost_measured){.elements = row->cost->elements,
                                     .cpu_ns = row->cost->cpu_ns,
                                     .wall_ns = row->cost->wall_ns};
#define SET(name) cost.sums.name = row->cost->name;
    CW_COST_SUMS(SET)
#undef SET
    set_node(&cost, row->bytes, row->elements, ret_node);
}

void tool_measured_of_reply(const Cachew__V1__ExplainReply *reply,
                            struct tool_measured *ret_measured)
{
    *ret_measured = (struct tool_measured){
        .n = reply->n_nodes, .nodes = CW_NEW_ARRAY(struct tool_measured_node, reply->n_nodes)};
    for (size_t i = 0; i < reply->n_nodes; i++)
        take_row(reply->nodes[i], &ret_measured->nodes[i]);
}

/* ---- */

const struct tool_measured_node *tool_measured_find(const struct tool_measured *measured,
                                                    const char *name)
{
    for (size_t i = 0; i < measured->n; i++)
        if (strcmp(measured->nodes[i].name, name) == 0)
            return &measured->nodes[i];
    return NULL;
}

void tool_measured_fini(struct tool_measured *measured)
{
    for (size_t i = 0; i < measured->n; i++)
        cw_mem_free(measured->nodes[i].name);
    cw_mem_free(measured->nodes);
    *measured = (struct tool_measured){0};
}
