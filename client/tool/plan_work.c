/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/plan_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/plan_sample.h"
#include "client/tool/tool_graph.h"
#include "conf/value_yaml.h"
#include "rewrite/hoist.h"
#include "rewrite/pecan_class.h"
#include "rewrite/relaxed.h"

const char *tool_bound_name(enum cw_optimize_bound bound)
{
    static const char *const NAMES[] = {
        [CW_BOUND_THREADS] = "threads", [CW_BOUND_CPU] = "cpu",
        [CW_BOUND_SOURCE] = "source",   [CW_BOUND_STORE] = "store",
        [CW_BOUND_NETWORK] = "network", [CW_BOUND_TRAINER] = "trainer",
    };

    return NAMES[bound];
}

const char *tool_planned_why_not(const struct tool_planned *planned, bool relaxed, size_t a,
                                 size_t b)
{
    return relaxed ? cw_relaxed_why_not(&planned->chain, a, b)
                   : cw_chain_why_not(&planned->chain, a, b);
}

static const char *name_of(const struct tool_planned *p, size_t place)
{
    return p->problem.nodes[place].name;
}

void tool_rejected_text(const struct tool_planned *p, const struct cw_optimize_rejected *it,
                        struct cw_str *out)
{
    const struct cw_optimize_plan *plan = &p->found.plan;

    switch (it->kind) {
    case CW_REJECTED_WRITTEN:
        cw_str_add(out, "the written order");
        break;
    case CW_REJECTED_NO_CACHE:
        cw_str_add(out, "no cache");
        break;
    case CW_REJECTED_CACHE:
        cw_str_addf(out, "a cache behind %s", cw_optimize_cached_name(&p->problem, &it->plan));
        break;
    case CW_REJECTED_SWAPPED:
        cw_str_addf(out, "%s before %s", name_of(p, it->b), name_of(p, it->a));
        break;
    case CW_REJECTED_WORKERS:
        cw_str_addf(out, "%u remote and %u local workers", it->plan.remote, it->plan.local);
        return;
    }
    if (it->plan.remote != plan->remote || it->plan.local != plan->local)
        cw_str_addf(out, ", with %u remote and %u local workers", it->plan.remote, it->plan.local);
}

/* ---- options ---- */

bool tool_parse_workers(const char *text, struct tool_plan_options *options)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    options->remote = strtoull(text, &end, 10);
    if (*end != ',' || end[1] < '0' || end[1] > '9')
        return false;
    options->local = strtoull(end + 1, &end, 10);
    return *end == '\0' && options->remote <= 1000 && options->local <= 1000 &&
           options->remote + options->local > 0;
}

/* ---- loading ---- */

/* A profile in which nothing costs anything, for policies that do not go by costs. */
static void make_profile(const struct cw_graph *graph, struct cw_cost_profile *ret_profile)
{
    *ret_profile = (struct cw_cost_profile){.n = graph->n};
    ret_profile->nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, graph->n);
    for (size_t i = 0; i < graph->n; i++)
        ret_profile->nodes[i] =
            (struct cw_cost_profile_node){.name = cw_mem_strdup(graph->nodes[i].name), .keep = 1};
}

int tool_planned_profile(const char *path, struct tool_planned *p, struct cw_err *err)
{
    struct cw_value value = {0};

    if (!path) {
        make_profile(p->graph, &p->profile);
        return 0;
    }
    p->has_costs = true;
    int rc = cw_value_load_any(path, &value, err);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, path, &p->profile, err);
    cw_value_fini(&value);
    return rc;
}

bool tool_plan_objective_is_good(const char *command, const struct tool_plan_options *options)
{
    const char *objective = options->objective ? options->objective : "time";
    const double prices = options->worker_price + options->trainer_price + options->store_price;

    if (strcmp(objective, "time") != 0 && strcmp(objective, "money") != 0)
        fprintf(stderr, "cachew %s: --objective takes time or money\n", command);
    else if (strcmp(objective, "money") == 0 && !(prices > 0))
        fprintf(stderr,
                "cachew %s: --objective money needs --worker-price, --trainer-price or "
                "--store-price\n",
                command);
    else
        return true;
    return false;
}

/* What the search may not choose is as it is written, and as many workers as may be used. */
static void restrict_search(const struct tool_plan_options *options,
                            struct cw_optimize_problem *problem)
{
    problem->epochs = (double)options->epochs;
    problem->threads = (double)options->threads;
    problem->cores = options->cores;
    problem->remote_max = (unsigned)options->remote;
    problem->local_max = (unsigned)options->local;
    problem->worker_price = options->worker_price;
    problem->trainer_price = options->trainer_price;
    problem->store_price = options->store_price;
    problem->least_money = options->objective && strcmp(options->objective, "money") == 0;
    problem->apart = options->no_fusion;
    if (options->no_caching)
        problem->has_store = false;
    for (size_t i = 1; options->no_reorder && i < problem->n; i++)
        problem->nodes[i].behind |= (UINT64_C(1) << i) - 1;
}

static int classify(struct tool_planned *p, struct cw_err *err)
{
    double growth[CW_OPTIMIZE_NODES_MAX] = {0};
    int rc = tool_plan_sample(p->checked, &p->map, growth, err);

    if (rc == 0)
        cw_pecan_classify(p->checked, &p->map, growth, p->classes);
    return rc;
}

int tool_planned_open(const char *path, struct tool_planned *p, struct cw_err *err)
{
    int rc = cw_graph_load(path, &p->graph, err);

    return rc < 0 ? rc : tool_graph_check(p->graph, NULL, &p->checked, err);
}

/* Where operators may be moved by costs, those of a zip's branches are looked at behind it. */
static void hoist(const struct tool_plan_options *options, struct tool_planned *p)
{
    p->given = cw_checked_ref(p->checked);
    if (options->no_reorder || options->relaxed || !p->optimizer->needs_profile)
        return;
    struct cw_checked *hoisted = cw_hoist(p->checked, NULL);
    if (!hoisted)
        return;
    cw_checked_unref(p->checked);
    cw_graph_unref(p->graph);
    p->checked = hoisted;
    p->graph = cw_graph_ref(hoisted->graph);
}

int tool_planned_prepare(const char *where, const struct tool_plan_options *options,
                         struct tool_planned *p, struct cw_err *err)
{
    int rc = 0;

    p->optimizer = cw_optimizer_find(options->policy);
    hoist(options, p);
    cw_chain_list(p->checked, &p->chain);
    if (cw_problem_from(&p->chain, &p->profile, &p->problem, &p->map, err) < 0)
        rc = cw_err_wrap(err, "%s", where);
    if (rc == 0 && p->optimizer->needs_classes)
        rc = classify(p, err);
    if (rc < 0)
        return rc;
    if (options->relaxed)
        cw_problem_relax(&p->chain, &p->problem);
    restrict_search(options, &p->problem);
    return 0;
}

int tool_planned_load(const char *pipeline_path, const char *profile_path,
                      const struct tool_plan_options *options, struct tool_planned *p,
                      struct cw_err *err)
{
    int rc = tool_planned_open(pipeline_path, p, err);

    if (rc == 0)
        rc = tool_planned_profile(profile_path, p, err);
    if (rc == 0)
        rc = tool_planned_prepare(profile_path ? profile_path : pipeline_path, options, p, err);
    return rc;
}

void tool_planned_fini(struct tool_planned *p)
{
    cw_cost_profile_fini(&p->profile);
    cw_chain_fini(&p->chain);
    cw_checked_unref(p->checked);
    cw_checked_unref(p->given);
    cw_graph_unref(p->graph);
    *p = (struct tool_planned){0};
}

/* ---- planning ---- */

static bool is_exact(const struct tool_planned *p, const size_t *order)
{
    if (!p->checked) /* A problem says by itself what may change sides. */
        return true;
    for (size_t i = 1; i < p->problem.n; i++)
        for (size_t k = 0; k < i; k++)
            if (order[k] > order[i] && tool_planned_why_not(p, false, order[i], order[k]))
                return false;
    return true;
}

/* A relaxed order in which something does not fit falls back to the written one. */
static void check_relaxed(struct tool_planned *p)
{
    if (cw_relaxed_check(&p->chain, p->found.plan.order, &p->refused) < 0)
        cw_optimizer_as_written(&p->problem, &p->found.plan);
    else
        p->refused = (struct cw_err){0};
}

static void set_written(struct tool_planned *p)
{
    cw_optimizer_as_written(&p->problem, &p->written);
    p->written.remote = p->found.plan.remote;
    p->written.local = p->found.plan.local;
    cw_optimize_price(&p->problem, &p->written);
}

void tool_planned_search(const struct tool_plan_options *options, struct tool_planned *p)
{
    struct cw_optimize_plan *plan = &p->found.plan;

    p->optimizer->plan(&p->problem, p->classes, &p->found);
    p->is_exact = is_exact(p, plan->order);
    if (!p->is_exact)
        check_relaxed(p);
    p->is_exact = is_exact(p, plan->order);
    if (options->no_workers) {
        plan->remote = p->problem.remote_max;
        plan->local = p->problem.local_max;
        cw_optimize_price(&p->problem, plan);
    }
    set_written(p);
    if (p->has_costs)
        p->rejected_n = cw_optimize_rejected(&p->problem, plan, options->no_workers, p->rejected);
}

static bool is_as_written(const struct tool_planned *p)
{
    for (size_t i = 0; i < p->problem.n; i++)
        if (p->found.plan.order[i] != i)
            return false;
    return p->found.plan.cache_after == CW_OPTIMIZE_NO_CACHE;
}

const char *tool_planned_name(const struct tool_planned *p, size_t place)
{
    const size_t first = p->chain.first;

    if (is_as_written(p))
        return p->given->graph->nodes[place].name;
    return p->graph->nodes[place < first ? place : first + p->found.plan.order[place - first]].name;
}

void tool_planned_order(const struct tool_planned *planned, struct cw_order_plan *ret_plan)
{
    const struct cw_graph *graph = planned->graph;
    const struct cw_optimize_plan *found = &planned->found.plan;

    *ret_plan = (struct cw_order_plan){
        .n = graph->n, .relaxed = !planned->is_exact, .order = CW_NEW_ARRAY(char *, graph->n)};
    for (size_t i = 0; i < graph->n; i++)
        ret_plan->order[i] = cw_mem_strdup(tool_planned_name(planned, i));
    const char *cached = cw_optimize_cached_name(&planned->problem, found);
    if (cached)
        ret_plan->cache = cw_mem_strdup(cached);
}

void tool_planned_notes(const struct tool_planned *p)
{
    if (!p->found.plan.is_best)
        fprintf(stderr,
                "note: too much to look at; there may be a plan that takes up to %.0f %% less\n",
                100 * p->found.plan.gap);
    if (p->refused.msg[0])
        fprintf(stderr, "note: the written order stays: %s\n", p->refused.msg);
}
