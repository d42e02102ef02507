/* SPDX-License-Identifier: Apache-2.0 */
/* The problem of a job's plan: what was measured, what is cached, and the workers, as numbers for the
 * search. */
#include <string.h>

#include "base/mem.h"
#include "dispatcher/optimize/plan_search_int.h"
#include "rewrite/operator_key.h"

size_t cw_plan_node(const struct cw_checked *checked, const char *name)
{
    size_t i = 0;
    while (i < checked->graph->n && strcmp(checked->graph->nodes[i].name, name) != 0)
        i++;
    return i;
}

static int read_profile(struct cw_plan_work *w, struct cw_err *err)
{
    struct cw_value value = {0};
    const char *text = w->question->profile;
    int rc = cw_value_parse(text, strlen(text), "profile", &value, err);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, "profile", &w->profile, err);
    cw_value_fini(&value);
    return rc;
}

static void make_profile(struct cw_plan_work *w)
{
    const struct cw_graph *graph = w->present->graph;
    cw_autofree struct cw_cost_measured *measured = CW_NEW_ARRAY(struct cw_cost_measured, graph->n);
    for (size_t i = 0; i < graph->n; i++) {
        size_t k = cw_plan_node(w->job, graph->nodes[i].name);
        if (k < w->question->measured_n)
            measured[i] = w->question->measured[k];
    }
    const struct cw_filter_shares *filters = &w->question->filters;
    const char *names[CW_FILTERS_MAX] = {0};
    for (size_t i = 0; i < filters->n; i++)
        names[i] = filters->names[i];
    cw_cost_profile_of_measured(w->present, measured, &w->profile);
    cw_cost_profile_add_filters(&w->profile, names, filters->shown, filters->passed);
    w->profile.elements = w->question->elements;
}

/* Makes a profile of what other pipelines' operators cost. Returns false if that of some is not known. */
static bool collect_profile(struct cw_plan_work *w)
{
    const struct cw_checked *checked = w->present;
    w->profile.nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, checked->graph->n);
    w->profile.elements = w->question->elements;
    for (size_t i = 0; i < checked->graph->n; i++) {
        if (!cw_cost_profile_needs(checked->nodes[i].op))
            continue;
        const struct cw_cost_profile_node *known =
            cw_operator_costs_find(&w->question->costs, cw_operator_key(w->present, i));
        if (!known)
            return false;
        struct cw_cost_profile_node *node = &w->profile.nodes[w->profile.n++];
        *node = *known;
        node->name = cw_mem_strdup(checked->graph->nodes[i].name);
    }
    return true;
}

static void print_profile(const struct cw_plan_work *w)
{
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};
    cw_cost_profile_print(&w->profile, &value);
    cw_value_print(&value, &text);
    w->answer->profile = cw_str_take(&text);
    cw_value_fini(&value);
}

/* Which nodes may change sides was decided in the written order (rewrite/commute.h). */
static void set_behind(struct cw_plan_work *w)
{
    for (size_t i = 0; i < w->is.n; i++)
        w->problem.nodes[i].behind = 0;
    for (size_t i = 0; i < w->is.n; i++)
        for (size_t k = 0; k < w->is.n; k++)
            if (w->at[i] < w->at[k] && cw_chain_why_not(&w->was, w->at[i], w->at[k]))
                w->problem.nodes[k].behind |= UINT64_C(1) << i;
}

/* What is cached stays before the node behind which it is, so that the records are of use. */
static void set_wall(struct cw_plan_work *w)
{
    if (!w->question->cached || w->answer->decides_cache)
        return;
    size_t wall = cw_plan_node(w->written, w->question->cached);
    if (wall < w->was.first || wall == w->written->graph->n)
        return;
    wall -= w->was.first;
    for (size_t i = 0; i < w->is.n; i++)
        for (size_t k = 0; k < w->is.n; k++)
            if (w->at[i] <= wall && w->at[k] > wall) {
                w->problem.nodes[k].behind |= UINT64_C(1) << i;
                w->answer->is_illegal = w->answer->is_illegal || k < i;
            }
}

/* ---- the cache ---- */

/* Whether a node stands in the chain of a graph: not in a branch of a zip, where what is cached has another key. */
static bool is_in_chain(const struct cw_checked *checked, const char *node)
{
    struct cw_chain chain = {0};
    const size_t place = cw_plan_node(checked, node);
    cw_chain_list(checked, &chain);
    const bool is_there = place >= chain.first && place < checked->graph->n;
    cw_chain_fini(&chain);
    return is_there;
}

/* The operators up to a node of either order, as places of the present one; 0: none of the chain's. An operator that
 * is brought behind the zip by this search stands in its branch still in the graph that elements were cached by. */
static uint64_t set_up_to(const struct cw_plan_work *w, const char *node, bool of_written)
{
    const struct cw_checked *checked = of_written ? w->written : w->present;
    size_t place = cw_plan_node(checked, node);
    uint64_t set = 0;
    if (place < w->is.first || place == checked->graph->n ||
        !is_in_chain(of_written ? w->job : w->plan, node))
        return 0;
    for (size_t i = 0; i < w->is.n; i++)
        if ((of_written ? w->at[i] : i) <= place - w->is.first)
            set |= UINT64_C(1) << i;
    return set;
}

static bool is_listed(const struct cw_optimize_problem *problem, uint64_t set)
{
    for (size_t i = 0; i < problem->cached_n; i++)
        if (problem->cached[i].set == set)
            return true;
    return false;
}

size_t cw_plan_branch(const struct cw_plan_work *w, const char *node)
{
    for (size_t k = 0; k < w->problem.branches_n; k++)
        if (cw_str_eq(w->problem.branches[k].name, node))
            return CW_OPTIMIZE_INSIDE + k;
    return CW_OPTIMIZE_NO_CACHE;
}

static void add_cached(struct cw_plan_work *w, const struct cw_plan_records *records)
{
    struct cw_optimize_problem *problem = &w->problem;
    uint64_t set = set_up_to(w, records->node, records->of_written);
    double n = w->question->elements;
    const size_t branch = cw_plan_branch(w, records->node);
    if (branch != CW_OPTIMIZE_NO_CACHE)
        problem->branches[branch - CW_OPTIMIZE_INSIDE].share = CW_MIN(records->records / n, 1);
    if (set == 0 || is_listed(problem, set))
        return;
    for (size_t i = 0; i < problem->n; i++)
        n *= set >> i & 1 ? problem->nodes[i].keep : 1;
    problem->cached[problem->cached_n++] =
        (struct cw_optimize_cached){set, n > 0 ? CW_MIN(records->records / n, 1) : 1};
}

static void set_cache(struct cw_plan_work *w)
{
    struct cw_optimize_problem *problem = &w->problem;
    problem->store = w->question->store;
    for (size_t i = 0; problem->has_store && i < w->question->records_n; i++)
        add_cached(w, &w->question->records[i]);
}

/* The place of the present order behind which elements are cached now. */
size_t cw_plan_cached_now(const struct cw_plan_work *w)
{
    const struct cw_plan_question *q = w->question;
    const size_t branch = q->cached ? cw_plan_branch(w, q->cached) : CW_OPTIMIZE_NO_CACHE;
    uint64_t set = q->cached ? set_up_to(w, q->cached, !q->cached_is_of_plan) : 0;
    if (w->answer->decides_cache && branch != CW_OPTIMIZE_NO_CACHE)
        return branch;
    size_t n = (size_t)__builtin_popcountll(set);
    if (!w->answer->decides_cache || set == 0 || set != (UINT64_C(1) << n) - 1)
        return CW_OPTIMIZE_NO_CACHE;
    return n - 1;
}

/* ---- workers, and what takes time besides ---- */

static void set_workers(struct cw_plan_work *w)
{
    const struct cw_plan_question *q = w->question;
    struct cw_optimize_problem *problem = &w->problem;
    problem->threads = CW_MAX(q->threads, 1);
    problem->cores = q->cores;
    problem->remote_max = (unsigned)CW_MAX(q->workers_max > 0 ? q->workers_max : q->workers, 1);
    problem->local_max = 0;
    problem->worker_price = q->worker_price;
    problem->trainer_price = q->trainer_price;
    problem->store_price = q->store_price;
    if (q->workers_max <=
        0) { /* their number stays, so they are paid for as long as the trainer is */
        problem->trainer_price += problem->worker_price * CW_MAX(q->workers, 1);
        problem->worker_price = 0;
    }
    problem->least_money = q->least_money;
    problem->least_work = true;
}

static void set_besides(struct cw_plan_work *w)
{
    struct cw_optimize_plan plan;
    cw_optimizer_as_written(&w->problem, &plan);
    w->problem.element_ns = CW_MAX(w->question->busy_ns - plan.thread_ns, 0);
}

static void set_numbers(struct cw_plan_work *w)
{
    struct cw_optimize_problem *problem = &w->problem;
    size_t fields_n = 1;
    for (size_t f = 0; f < problem->fields_n; f++)
        fields_n = problem->bytes[f] > 0 ? f + 1 : fields_n;
    problem->fields_n = fields_n;
    for (size_t i = 0; i < problem->n; i++) {
        problem->nodes[i].reads &= (UINT32_C(1) << fields_n) - 1;
        problem->nodes[i].adds &= (UINT32_C(1) << fields_n) - 1;
    }
    problem->epochs = CW_MAX(w->question->epochs, 1);
    problem->apart = w->question->apart;
    set_workers(w);
    set_cache(w);
    set_besides(w);
}

int cw_plan_numbers(struct cw_plan_work *w, struct cw_err *err)
{
    int rc = 0;
    if (w->question->measured)
        make_profile(w);
    else if (w->question->profile)
        rc = read_profile(w, err);
    else
        w->answer->lacks_costs = !collect_profile(w);
    if (rc != 0 || w->answer->lacks_costs)
        return rc;
    print_profile(w);
    /* Whose measurements they are was known before: no fingerprints are compared. */
    cw_mem_free(cw_steal(&w->profile.pipeline));
    w->profile.step_ms = w->question->step_ns / 1e6;
    w->profile.has_store = w->question->has_store;
    rc = cw_problem_from(&w->is, &w->profile, &w->problem, &w->map, err);
    if (rc != 0)
        return rc;
    w->answer->decides_cache = w->problem.has_store;
    set_behind(w);
    set_wall(w);
    set_numbers(w);
    return 0;
}
