/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/optimize/plan_search_int.h"

#include <string.h>

#include "base/mem.h"
#include "dispatcher/optimize/first_plan.h"
#include "graph/complete.h"
#include "policies/optimize_view.h"
#include "policies/problem_json.h"
#include "policies/text.h"
#include "rewrite/apply.h"
#include "rewrite/hoist.h"
#include "rewrite/pecan_class.h"
#include "rewrite/problem.h"
#include "wire/wire.h"

static const char *name_at(const struct cw_plan_work *w, size_t place)
{
    return w->present->graph->nodes[w->is.first + place].name;
}

/* ---- graphs ---- */

/* A plan that was given by hand may lack what files say of the sources; the written pipeline has it. */
static int load(const struct cw_buf *packed, const struct cw_checked *written,
                struct cw_checked **ret_checked, struct cw_err *err)
{
    struct cw_graph *graph = NULL, *completed = NULL;
    int rc = cw_wire_graph_unpack(packed->data, packed->len, &graph, err);
    if (rc == 0 && written)
        rc = cw_graph_complete_like(graph, written->graph, &completed, err);
    if (rc == 0)
        rc = cw_graph_check(completed ? completed : graph, ret_checked, err);
    cw_graph_unref(completed);
    cw_graph_unref(graph);
    return rc;
}

/* Where a plan is named, those operators stand behind a zip that it has there. What is cached has another key behind a
 * zip than in a branch, so nothing is brought there then. */
static struct cw_checked *hoist(const struct cw_plan_work *w)
{
    const struct cw_plan_question *q = w->question;
    struct cw_checked *hoisted = NULL;
    struct cw_order_plan plan = {0};
    if (q->order && cw_first_plan_read(q->order, &plan, NULL) == 0)
        hoisted = cw_hoist_by(w->plan, plan.order, plan.n);
    else if (!q->order && !q->cached)
        hoisted = cw_hoist(w->plan, NULL);
    cw_order_plan_fini(&plan);
    return hoisted;
}

static void hoist_both(struct cw_plan_work *w)
{
    w->present = hoist(w);
    if (!w->present)
        w->present = cw_checked_ref(w->plan);
    w->written = cw_hoist_like(w->job, w->present);
    if (!w->written)
        w->written = cw_checked_ref(w->job);
}

static int load_both(struct cw_plan_work *w, struct cw_err *err)
{
    const struct cw_plan_question *q = w->question;
    int rc = load(q->written, NULL, &w->job, err);
    if (rc == 0)
        rc = load(q->present ? q->present : q->written, w->job, &w->plan, err);
    if (rc != 0)
        return rc;
    hoist_both(w);
    cw_chain_list(w->written, &w->was);
    cw_chain_list(w->present, &w->is);
    return 0;
}

/* Whether any two neighbours may change sides, which index operators between them do not matter to. */
static bool may_move(const struct cw_chain *chain)
{
    size_t before = 0;
    for (size_t i = 1; i < chain->n; i++) {
        if (chain->ops[i].maps)
            continue;
        if (!cw_chain_why_not(chain, before, i))
            return true;
        before = i;
    }
    return false;
}

static int set_places(struct cw_plan_work *w, struct cw_err *err)
{
    if (w->was.n > CW_OPTIMIZE_NODES_MAX || w->was.n != w->is.n)
        return cw_err_set(err, CW_E_LIMIT, "a chain of more than %d operators",
                          CW_OPTIMIZE_NODES_MAX);
    for (size_t i = 0; i < w->is.n; i++)
        w->at[i] = cw_plan_node(w->written, name_at(w, i)) - w->was.first;
    return 0;
}

/* ---- the answer ---- */

static void set_nodes(const struct cw_plan_work *w, const struct cw_optimize_plan *plan,
                      struct cw_replan_node *ret_nodes)
{
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];
    cw_optimize_rows(&w->problem, plan, rows);
    for (size_t i = 0; i < w->problem.n; i++)
        ret_nodes[w->at[plan->order[i]]] = (struct cw_replan_node){
            .call_ns = rows[i].call_ns,
            .keep = rows[i].rows_in > 0 ? rows[i].rows / rows[i].rows_in : 1};
}

static bool is_written(const struct cw_plan_work *w)
{
    for (size_t i = 0; i < w->problem.n; i++)
        if (w->at[w->found.plan.order[i]] != i)
            return false;
    return true;
}

/* The nodes before the chain stay where they are. */
static int set_graph(struct cw_plan_work *w, struct cw_err *err)
{
    size_t first = w->was.first, n = w->written->graph->n;
    cw_autofree char **order = CW_NEW_ARRAY(char *, n);
    const struct cw_order_plan plan = {.n = n, .order = order};
    struct cw_rewritten made = {0};
    for (size_t i = 0; i < n; i++)
        order[i] =
            w->written->graph->nodes[i < first ? i : first + w->at[w->found.plan.order[i - first]]]
                .name;
    if (is_written(w))
        return 0;
    int rc = cw_rewrite(w->job, &plan, &made, err);
    if (rc == 0)
        w->answer->graph = cw_wire_graph_pack(made.checked->graph);
    cw_rewritten_fini(&made);
    return rc;
}

static void set_texts(struct cw_plan_work *w)
{
    CW_STR_AUTO choice = {0};
    CW_STR_AUTO inputs = {0};
    for (size_t i = 0; i < w->problem.n; i++)
        cw_str_addf(&choice, "%s%s", i > 0 ? " > " : "", name_at(w, w->found.plan.order[i]));
    if (w->answer->cached)
        cw_str_addf(&choice, CW_PLAN_CHOICE_CACHED "%s", w->answer->cached);
    cw_problem_print(&w->problem, &inputs);
    w->answer->choice = cw_str_take(&choice);
    w->answer->inputs = cw_str_take(&inputs);
}

static double element_ns(const struct cw_plan_work *w, const struct cw_optimize_plan *plan)
{
    return plan->work_ns / w->problem.epochs;
}

static void add_rejected(const struct cw_plan_work *w, const struct cw_optimize_rejected *rejected,
                         struct cw_str *out)
{
    const struct cw_optimize_plan *plan = &rejected->plan;
    switch (rejected->kind) {
    case CW_REJECTED_SWAPPED:
        cw_str_addf(out, "%s before %s: ", name_at(w, rejected->b), name_at(w, rejected->a));
        break;
    case CW_REJECTED_CACHE:
        cw_str_addf(out, "cached behind %s: ", cw_optimize_cached_name(&w->problem, plan));
        break;
    case CW_REJECTED_NO_CACHE:
        cw_str_add(out, "without a cache: ");
        break;
    case CW_REJECTED_WORKERS:
        cw_str_addf(out, "%u worker%s: ", plan->remote + plan->local,
                    plan->remote + plan->local == 1 ? "" : "s");
        break;
    case CW_REJECTED_WRITTEN:
        cw_str_add(out, w->answer->decides_cache ? "the present order, best cached: "
                                                 : "the present order: ");
    }
    cw_policy_add_time(out, element_ns(w, plan));
    cw_str_add(out, " an element");
}

static void set_candidates(struct cw_plan_work *w)
{
    cw_autofree struct cw_optimize_rejected *all =
        CW_NEW_ARRAY(struct cw_optimize_rejected, CW_REJECTED_MAX);
    size_t n = cw_optimize_rejected(&w->problem, &w->found.plan, w->answer->workers == 0, all);
    CW_STR_AUTO text = {0};
    for (size_t i = 0; i < n; i++) {
        cw_str_add(&text, i > 0 ? "\n" : "");
        add_rejected(w, &all[i], &text);
    }
    w->answer->candidates = cw_str_take(&text);
}

static uint64_t hash_of(const struct cw_plan_answer *answer)
{
    const struct cw_buf *graph = answer->graph;
    const char *cached = answer->cached ? answer->cached : "";
    uint64_t order = graph ? cw_hash_bytes(graph->data, graph->len).lo : 0;
    return order ^ (*cached ? cw_hash_bytes(cached, strlen(cached)).lo : 0);
}

/* Prices the present plan and the one that was found with the workers that there are now. */
static void price(struct cw_plan_work *w)
{
    unsigned workers = (unsigned)CW_MAX(w->question->workers, 1);
    cw_optimizer_as_written(&w->problem, &w->now);
    w->now.cache_after = cw_plan_cached_now(w);
    w->then = w->found.plan;
    w->now.remote = w->then.remote = workers;
    w->now.local = w->then.local = 0;
    cw_optimize_price(&w->problem, &w->now);
    cw_optimize_price(&w->problem, &w->then);
}

static void compare(struct cw_plan_work *w)
{
    struct cw_plan_answer *a = w->answer;
    for (size_t i = 0; i < a->n; i++)
        a->is_other_order = a->is_other_order || w->then.order[i] != i;
    a->is_other = a->is_other_order || w->then.cache_after != w->now.cache_after;
    const char *cached = cw_optimize_cached_name(&w->problem, &w->then);
    if (cached)
        a->cached = cw_mem_strdup(cached);
    a->workers = w->question->workers_max > 0 ? w->found.plan.remote : 0;
    a->now_ns = element_ns(w, &w->now);
    a->then_ns = element_ns(w, &w->then);
    a->epoch_ns = w->found.plan.epoch_ns;
    a->now_total = w->problem.least_money ? w->now.money : w->now.total_ns;
    a->then_total = w->problem.least_money ? w->then.money : w->then.total_ns;
}

/* The places of a plan that is named. */
static int take_named(struct cw_plan_work *w, const struct cw_order_plan *plan, struct cw_err *err)
{
    struct cw_optimize_plan *found = &w->found.plan;
    size_t n = 0;
    cw_optimizer_as_written(&w->problem, found);
    for (size_t i = 0; i < plan->n; i++) {
        size_t node = cw_plan_node(w->present, plan->order[i]);
        const bool is_cached =
            plan->cache && w->answer->decides_cache && cw_str_eq(plan->order[i], plan->cache);
        if (is_cached && node < w->is.first)
            found->cache_after = cw_plan_branch(w, plan->cache);
        if (node < w->is.first)
            continue;
        if (n == w->is.n || node == w->present->graph->n)
            return cw_err_set(err, CW_E_INVALID, "the plan is not one of this pipeline");
        if (is_cached)
            found->cache_after = n;
        found->order[n++] = node - w->is.first;
    }
    if (n < w->is.n)
        return cw_err_set(err, CW_E_INVALID, "the plan lacks nodes of this pipeline");
    cw_optimizer_finish(&w->problem, found);
    return 0;
}

/* What only data tell is what was measured: bytes that came out over bytes that came in. */
static void classify(const struct cw_plan_work *w, struct cw_pecan_op *ret_classes)
{
    double growth[CW_OPTIMIZE_NODES_MAX] = {0};
    for (size_t i = 0; i < w->is.n; i++) {
        const struct cw_cost_profile_node *node = cw_cost_profile_find(&w->profile, name_at(w, i));
        growth[i] = node && node->in_bytes > 0 ? node->out_bytes / node->in_bytes : 0;
    }
    cw_pecan_classify(w->present, &w->map, growth, ret_classes);
}

static int find_plan(struct cw_plan_work *w, struct cw_err *err)
{
    const struct cw_plan_question *q = w->question;
    struct cw_pecan_op classes[CW_OPTIMIZE_NODES_MAX];
    struct cw_order_plan plan = {0};
    w->answer->is_wanted = q->order || strcmp(q->policy->name, "auto") != 0;
    if (!q->order) {
        if (q->policy->needs_classes)
            classify(w, classes);
        q->policy->plan(&w->problem, classes, &w->found);
        return 0;
    }
    int rc = cw_first_plan_read(q->order, &plan, err);
    if (rc == 0)
        rc = take_named(w, &plan, err);
    cw_order_plan_fini(&plan);
    return rc;
}

static int answer(struct cw_plan_work *w, struct cw_err *err)
{
    struct cw_plan_answer *a = w->answer;
    a->n = w->problem.n;
    for (size_t i = 0; i < a->n; i++)
        a->nodes[i] = cw_plan_node(w->job, w->written->graph->nodes[w->was.first + i].name);
    int rc = find_plan(w, err);
    if (rc != 0)
        return rc;
    price(w);
    compare(w);
    set_nodes(w, &w->now, a->now);
    set_nodes(w, &w->then, a->then);
    if (!a->is_other)
        return 0;
    set_texts(w);
    set_candidates(w);
    rc = set_graph(w, err);
    a->order = hash_of(a);
    return rc;
}

static int search(struct cw_plan_work *w, struct cw_err *err)
{
    int rc = load_both(w, err);
    if (rc != 0)
        return rc;
    /* what keeps operators in a zip's branch may not be cached for ever */
    w->answer->is_fixed = !may_move(&w->was) && !(w->question->cached && w->was.first > 0);
    if (w->answer->is_fixed)
        return 0;
    rc = set_places(w, err);
    if (rc == 0)
        rc = cw_plan_numbers(w, err);
    return rc == 0 && !w->answer->lacks_costs ? answer(w, err) : rc;
}

void cw_plan_search_run(struct cw_plan_search *s)
{
    struct cw_plan_work *w = CW_NEW(struct cw_plan_work);
    w->question = &s->question;
    w->answer = &s->answer;
    s->answer.rc = search(w, &s->answer.err);
    cw_cost_profile_fini(&w->profile);
    cw_chain_fini(&w->was);
    cw_chain_fini(&w->is);
    cw_checked_unref(w->job);
    cw_checked_unref(w->written);
    cw_checked_unref(w->present);
    cw_checked_unref(w->plan);
    cw_mem_free(w);
}

void cw_plan_search_free(struct cw_plan_search *s)
{
    if (!s)
        return;
    cw_buf_unref(s->question.written);
    cw_buf_unref(s->question.present);
    cw_mem_free(s->question.measured);
    cw_mem_free(s->question.profile);
    cw_mem_free(s->question.costs.nodes);
    cw_mem_free(s->question.order);
    cw_mem_free(s->question.cached);
    for (size_t i = 0; i < s->question.filters.n; i++)
        cw_mem_free(s->question.filters.names[i]);
    for (size_t i = 0; i < s->question.records_n; i++)
        cw_mem_free(s->question.records[i].node);
    cw_buf_unref(s->answer.graph);
    char *const texts[] = {s->answer.choice, s->answer.candidates, s->answer.inputs,
                           s->answer.profile, s->answer.cached};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free(texts[i]);
    cw_mem_free(s);
}
