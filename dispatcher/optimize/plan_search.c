/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/optimize/plan_search.h"

#include <string.h>

#include "base/mem.h"
#include "graph/complete.h"
#include "policies/optimize_view.h"
#include "policies/problem_json.h"
#include "policies/text.h"
#include "rewrite/apply.h"
#include "rewrite/problem.h"
#include "wire/wire.h"

/* Places are those of the present order, unless said otherwise. */
struct work {
    const struct cw_plan_question *question;
    struct cw_plan_answer *answer;
    struct cw_checked *written, *present;
    struct cw_chain was, is;          /* the chain as written, and at present */
    size_t at[CW_OPTIMIZE_NODES_MAX]; /* the written place of each node */
    struct cw_cost_profile profile;
    struct cw_optimize_problem problem;
    struct cw_problem_map map;
    struct cw_optimize_plan now;
    struct cw_optimizer_plan found;
};

static const char *name_at(const struct work *w, size_t place)
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

static int load_both(struct work *w, struct cw_err *err)
{
    const struct cw_plan_question *q = w->question;
    int rc = load(q->written, NULL, &w->written, err);
    if (rc == 0)
        rc = load(q->present ? q->present : q->written, w->written, &w->present, err);
    if (rc != 0)
        return rc;
    cw_chain_list(w->written, &w->was);
    cw_chain_list(w->present, &w->is);
    return 0;
}

static size_t find(const struct cw_checked *checked, const char *name)
{
    size_t i = 0;
    while (i < checked->graph->n && strcmp(checked->graph->nodes[i].name, name) != 0)
        i++;
    return i;
}

/* Whether any two neighbours may change sides. */
static bool may_move(const struct cw_chain *chain)
{
    for (size_t i = 1; i < chain->n; i++)
        if (!cw_chain_why_not(chain, i - 1, i))
            return true;
    return false;
}

static int set_places(struct work *w, struct cw_err *err)
{
    if (w->was.n > CW_OPTIMIZE_NODES_MAX || w->was.n != w->is.n)
        return cw_err_set(err, CW_E_LIMIT, "a chain of more than %d operators",
                          CW_OPTIMIZE_NODES_MAX);
    for (size_t i = 0; i < w->is.n; i++)
        w->at[i] = find(w->written, name_at(w, i)) - w->was.first;
    return 0;
}

/* ---- numbers ---- */

static int read_profile(struct work *w, struct cw_err *err)
{
    struct cw_value value = {0};
    const char *text = w->question->profile;
    int rc = cw_value_parse(text, strlen(text), "profile", &value, err);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, "profile", &w->profile, err);
    cw_value_fini(&value);
    return rc;
}

static void make_profile(struct work *w)
{
    const struct cw_graph *graph = w->present->graph;
    cw_autofree struct cw_cost_measured *measured = CW_NEW_ARRAY(struct cw_cost_measured, graph->n);
    for (size_t i = 0; i < graph->n; i++) {
        size_t k = find(w->written, graph->nodes[i].name);
        if (k < w->question->measured_n)
            measured[i] = w->question->measured[k];
    }
    cw_cost_profile_of_measured(w->present, measured, &w->profile);
    w->profile.elements = w->question->elements;
}

static void print_profile(const struct work *w)
{
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};
    cw_cost_profile_print(&w->profile, &value);
    cw_value_print(&value, &text);
    w->answer->profile = cw_str_take(&text);
    cw_value_fini(&value);
}

/* Which nodes may change sides was decided in the written order (rewrite/commute.h). */
static void set_behind(struct work *w)
{
    for (size_t i = 0; i < w->is.n; i++)
        w->problem.nodes[i].behind = 0;
    for (size_t i = 0; i < w->is.n; i++)
        for (size_t k = 0; k < w->is.n; k++)
            if (w->at[i] < w->at[k] && cw_chain_why_not(&w->was, w->at[i], w->at[k]))
                w->problem.nodes[k].behind |= UINT64_C(1) << i;
}

/* What is cached stays before the node behind which it is, so that the records are of use. */
static void set_wall(struct work *w)
{
    if (!w->question->cached)
        return;
    size_t wall = find(w->written, w->question->cached);
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

/* The order alone is looked for: what it saves is speed where workers decide how long an epoch takes,
 * and workers where they do not. Caches have their own policy. */
static void set_numbers(struct work *w)
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
    problem->threads = CW_MAX(w->question->threads, 1);
    problem->remote_max = 1;
    problem->local_max = 0;
    problem->has_store = false;
    problem->trainer_ns = 0;
}

static int make_problem(struct work *w, struct cw_err *err)
{
    int rc = 0;
    if (w->question->measured)
        make_profile(w);
    else
        rc = read_profile(w, err);
    if (rc != 0)
        return rc;
    print_profile(w);
    /* Whose measurements they are was known before: no fingerprints are compared. */
    cw_mem_free(cw_steal(&w->profile.pipeline));
    rc = cw_problem_from(&w->is, &w->profile, &w->problem, &w->map, err);
    if (rc != 0)
        return rc;
    set_behind(w);
    set_wall(w);
    set_numbers(w);
    return 0;
}

/* ---- the answer ---- */

static void set_nodes(const struct work *w, const struct cw_optimize_plan *plan,
                      struct cw_replan_node *ret_nodes)
{
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];
    cw_optimize_rows(&w->problem, plan, rows);
    for (size_t i = 0; i < w->problem.n; i++)
        ret_nodes[w->at[plan->order[i]]] = (struct cw_replan_node){
            .call_ns = rows[i].ns,
            .keep = rows[i].rows_in > 0 ? rows[i].rows / rows[i].rows_in : 1};
}

static bool is_written(const struct work *w)
{
    for (size_t i = 0; i < w->problem.n; i++)
        if (w->at[w->found.plan.order[i]] != i)
            return false;
    return true;
}

/* The nodes before the chain stay where they are. */
static int set_graph(struct work *w, struct cw_err *err)
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
    int rc = cw_rewrite(w->written, &plan, &made, err);
    if (rc == 0)
        w->answer->graph = cw_wire_graph_pack(made.checked->graph);
    cw_rewritten_fini(&made);
    return rc;
}

static void set_texts(struct work *w)
{
    CW_STR_AUTO choice = {0};
    CW_STR_AUTO inputs = {0};
    for (size_t i = 0; i < w->problem.n; i++)
        cw_str_addf(&choice, "%s%s", i > 0 ? " > " : "", name_at(w, w->found.plan.order[i]));
    cw_problem_print(&w->problem, &inputs);
    w->answer->choice = cw_str_take(&choice);
    w->answer->inputs = cw_str_take(&inputs);
}

static void set_candidates(struct work *w)
{
    cw_autofree struct cw_optimize_rejected *all =
        CW_NEW_ARRAY(struct cw_optimize_rejected, CW_REJECTED_MAX);
    size_t n = cw_optimize_rejected(&w->problem, &w->found.plan, true, all);
    CW_STR_AUTO text = {0};
    for (size_t i = 0; i < n; i++) {
        cw_str_add(&text, i > 0 ? "\n" : "");
        if (all[i].kind == CW_REJECTED_SWAPPED)
            cw_str_addf(&text, "%s before %s: ", name_at(w, all[i].b), name_at(w, all[i].a));
        else
            cw_str_add(&text, "the present order: ");
        cw_policy_add_time(&text, all[i].plan.thread_ns);
        cw_str_add(&text, " an element");
    }
    w->answer->candidates = cw_str_take(&text);
}

static uint64_t hash_of(const struct cw_buf *graph)
{
    return graph ? cw_hash_bytes(graph->data, graph->len).lo : 0;
}

static int answer(struct work *w, struct cw_err *err)
{
    struct cw_plan_answer *a = w->answer;
    a->n = w->problem.n;
    cw_optimizer_as_written(&w->problem, &w->now);
    w->question->policy->plan(&w->problem, NULL, &w->found);
    for (size_t i = 0; i < a->n; i++)
        a->is_other = a->is_other || w->found.plan.order[i] != i;
    a->now_ns = w->now.thread_ns;
    a->then_ns = w->found.plan.thread_ns;
    set_nodes(w, &w->now, a->now);
    set_nodes(w, &w->found.plan, a->then);
    if (!a->is_other)
        return 0;
    set_texts(w);
    set_candidates(w);
    int rc = set_graph(w, err);
    a->order = hash_of(a->graph);
    return rc;
}

static int search(struct work *w, struct cw_err *err)
{
    int rc = load_both(w, err);
    if (rc != 0)
        return rc;
    w->answer->is_fixed = !may_move(&w->was);
    if (w->answer->is_fixed)
        return 0;
    rc = set_places(w, err);
    if (rc == 0)
        rc = make_problem(w, err);
    return rc == 0 ? answer(w, err) : rc;
}

void cw_plan_search_run(struct cw_plan_search *s)
{
    struct work *w = CW_NEW(struct work);
    w->question = &s->question;
    w->answer = &s->answer;
    s->answer.rc = search(w, &s->answer.err);
    cw_cost_profile_fini(&w->profile);
    cw_chain_fini(&w->was);
    cw_chain_fini(&w->is);
    cw_checked_unref(w->written);
    cw_checked_unref(w->present);
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
    cw_mem_free(s->question.cached);
    cw_buf_unref(s->answer.graph);
    char *const texts[] = {s->answer.choice, s->answer.candidates, s->answer.inputs,
                           s->answer.profile};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free(texts[i]);
    cw_mem_free(s);
}
