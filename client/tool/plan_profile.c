/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/plan_profile.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/tool/tool.h"
#include "conf/value_yaml.h"
#include "policies/text.h"
#include "rewrite/problem.h"

struct planned {
    struct cw_graph *graph;
    struct cw_checked *checked;
    struct cw_chain chain;
    struct cw_cost_profile profile;
    struct cw_optimize_problem problem;
    struct cw_problem_map map;
    struct cw_optimize_plan plan,
        written; /* written: its order, no cache, and the plan's workers */
};

static const char *const BOUNDS[] = {
    [CW_BOUND_THREADS] = "threads", [CW_BOUND_CPU] = "cpu",         [CW_BOUND_SOURCE] = "source",
    [CW_BOUND_STORE] = "store",     [CW_BOUND_NETWORK] = "network", [CW_BOUND_TRAINER] = "trainer",
};

static int load(const char *pipeline_path, const char *profile_path, struct planned *p,
                struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_graph_load(pipeline_path, &p->graph, err);

    if (rc == 0)
        rc = cw_graph_check(p->graph, &p->checked, err);
    if (rc == 0)
        rc = cw_value_load_any(profile_path, &value, err);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, profile_path, &p->profile, err);
    cw_value_fini(&value);
    if (rc == 0)
        cw_chain_list(p->checked, &p->chain);
    if (rc == 0 && cw_problem_from(&p->chain, &p->profile, &p->problem, &p->map, err) < 0)
        rc = cw_err_wrap(err, "%s", profile_path);
    return rc;
}

/* What the search may not choose is as it is written, and as many workers as may be used. */
static void restrict_search(const struct tool_plan_options *options,
                            struct cw_optimize_problem *problem)
{
    problem->epochs = (double)options->epochs;
    problem->threads = (double)options->threads;
    problem->remote_max = (unsigned)options->remote;
    problem->local_max = (unsigned)options->local;
    if (options->no_caching)
        problem->has_store = false;
    for (size_t i = 1; options->no_reorder && i < problem->n; i++)
        problem->nodes[i].behind |= (UINT64_C(1) << i) - 1;
}

static void set_written(const struct planned *p, unsigned remote, unsigned local,
                        struct cw_optimize_plan *ret_plan)
{
    *ret_plan = (struct cw_optimize_plan){
        .cache_after = CW_OPTIMIZE_NO_CACHE, .remote = remote, .local = local, .is_best = true};
    for (size_t i = 0; i < p->problem.n; i++)
        ret_plan->order[i] = i;
    cw_optimize_price(&p->problem, ret_plan);
}

static void search(const struct tool_plan_options *options, struct planned *p)
{
    restrict_search(options, &p->problem);
    if (strcmp(options->policy, "off") == 0)
        set_written(p, p->problem.remote_max, p->problem.local_max, &p->plan);
    else
        cw_optimize(&p->problem, &p->plan);
    if (options->no_workers) {
        p->plan.remote = p->problem.remote_max;
        p->plan.local = p->problem.local_max;
        cw_optimize_price(&p->problem, &p->plan);
    }
    set_written(p, p->plan.remote, p->plan.local, &p->written);
}

/* ---- printing ---- */

static void add_name(struct cw_str *out, const char *name)
{
    if (out->len > 0 && cw_str_text(out)[out->len - 1] != '[')
        cw_str_add(out, ",");
    cw_str_add_json(out, name, strlen(name));
}

static void print_json(const struct tool_plan_options *options, const struct planned *p)
{
    CW_STR_AUTO order = {0};
    CW_STR_AUTO moved = {0};
    CW_STR_AUTO cache = {0};

    for (size_t i = 0; i < p->map.nodes[0]; i++)
        add_name(&order, p->graph->nodes[i].name);
    for (size_t i = 0; i < p->problem.n; i++) {
        const char *name = p->problem.nodes[p->plan.order[i]].name;
        add_name(&order, name);
        if (p->plan.order[i] != i)
            add_name(&moved, name);
        if (i == p->plan.cache_after)
            cw_str_add_json(&cache, name, strlen(name));
    }
    printf("{\"policy\":\"%s\",\"exact\":true,\"order\":[%s],\"moved\":[%s],\"cache\":%s,"
           "\"workers\":{\"remote\":%u,\"local\":%u},\"total_ns\":%.17g,\"epoch_ns\":%.17g,"
           "\"written_ns\":%.17g,\"bound\":\"%s\",\"states\":%zu,\"best\":%s}\n",
           options->policy, cw_str_text(&order), cw_str_text(&moved),
           cache.len ? cw_str_text(&cache) : "null", p->plan.remote, p->plan.local,
           p->plan.total_ns, p->plan.epoch_ns, p->written.total_ns, BOUNDS[p->plan.bound],
           p->plan.states, p->plan.is_best ? "true" : "false");
}

static void print_time(const char *what, double ns)
{
    CW_STR_AUTO text = {0};

    cw_policy_add_time(&text, ns);
    printf("%-10s %s\n", what, cw_str_text(&text));
}

static bool is_element(const struct planned *p, size_t place)
{
    return p->checked->nodes[p->map.nodes[place]].op->kind == CW_OP_ELEMENT;
}

static void print_text(const struct planned *p)
{
    printf("%-10s", "order");
    for (size_t i = 0; i < p->problem.n; i++)
        printf("%s%s%s%s", i ? " > " : " ", p->problem.nodes[p->plan.order[i]].name,
               p->plan.order[i] != i ? " (moved)" : "",
               i == p->plan.cache_after ? " (cached)" : "");
    printf("\nworkers    %u remote, %u local\n", p->plan.remote, p->plan.local);
    print_time("all epochs", p->plan.total_ns);
    print_time("an epoch", p->plan.epoch_ns);
    print_time("as written", p->written.total_ns);
    printf("bound by   %s\n", BOUNDS[p->plan.bound]);
    for (size_t i = 1; i < p->problem.n; i++) {
        const char *why = cw_chain_why_not(&p->chain, i - 1, i);
        if (why && is_element(p, i - 1) && is_element(p, i))
            printf("fixed      %s, then %s: the second %s\n", p->problem.nodes[i - 1].name,
                   p->problem.nodes[i].name, why);
    }
}

int tool_plan_profile(const char *pipeline_path, const char *profile_path,
                      const struct tool_plan_options *options, bool json)
{
    struct cw_err err = {0};
    struct planned *p = CW_NEW(struct planned);
    int rc = load(pipeline_path, profile_path, p, &err);

    if (rc == 0) {
        search(options, p);
        if (!p->plan.is_best)
            fputs("note: too much to look at; there may be a better plan\n", stderr);
        if (json)
            print_json(options, p);
        else
            print_text(p);
    }
    cw_cost_profile_fini(&p->profile);
    cw_chain_fini(&p->chain);
    cw_checked_unref(p->checked);
    cw_graph_unref(p->graph);
    cw_mem_free(p);
    return rc < 0 ? tool_fail_err(&err) : TOOL_OK;
}
