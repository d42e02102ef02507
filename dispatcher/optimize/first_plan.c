/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/optimize/first_plan.h"

#include <string.h>

#include "base/mem.h"
#include "graph/check.h"
#include "graph/complete.h"
#include "policies/optimizer.h"
#include "rewrite/apply.h"
#include "rewrite/pecan_class.h"
#include "rewrite/relaxed.h"

#define TEXT_MAX ((size_t)4 << 20)

static bool has_text(const char *text)
{
    return text && text[0] != '\0';
}

/* ---- policies ---- */

int cw_first_plan_check_policy(const char *policy, struct cw_err *err)
{
    static const char *const all[] = {"auto", "auto:once", "once", "cedar", "pecan", "off"};
    for (size_t i = 0; i < CW_ARRAY_LEN(all); i++)
        if (strcmp(policy, all[i]) == 0)
            return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "optimize policy \"%.100s\" is not known: auto, auto:once, cedar, off, pecan",
                      policy);
}

static const struct cw_optimizer *policy_of(const Cachew__V1__JobOptions *options)
{
    const char *name = options->optimize;
    bool is_other = strcmp(name, "cedar") == 0 || strcmp(name, "pecan") == 0;
    return cw_optimizer_find(is_other ? name : "auto");
}

/* ---- options that go together ---- */

static const char *misfit(const Cachew__V1__JobOptions *o)
{
    bool plan = has_text(o->plan), profile = has_text(o->profile);
    const struct cw_optimizer *policy = policy_of(o);
    if (strlen(o->plan) > TEXT_MAX || strlen(o->profile) > TEXT_MAX)
        return "job options plan and profile: more than 4 MiB of text";
    if (plan && (profile || strcmp(policy->name, "auto") != 0))
        return "job option plan: it says already in which order (without profile, and optimize "
               "pecan "
               "or cedar)";
    if (profile && strcmp(o->optimize, "off") == 0)
        return "job option profile: optimize \"off\" leaves the order as it is written";
    if (o->relaxed && !plan && !profile && policy->needs_profile)
        return "job option relaxed: the order must be the same at every start, so it cannot follow "
               "from what this job measures: give plan or profile, or optimize \"pecan\"";
    return NULL;
}

/* ---- texts ---- */

static int parse(const char *text, const char *option, struct cw_value *ret_value,
                 struct cw_err *err)
{
    return cw_value_parse(text, strlen(text), option, ret_value, err);
}

int cw_first_plan_read(const char *text, struct cw_order_plan *ret_plan, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = parse(text, "job option plan", &value, err);
    if (rc == 0)
        rc = cw_order_plan_from(&value, "job option plan", ret_plan, err);
    cw_value_fini(&value);
    return rc;
}

static int read_profile(const char *text, struct cw_cost_profile *ret_profile, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = parse(text, "job option profile", &value, err);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, "job option profile", ret_profile, err);
    cw_value_fini(&value);
    return rc;
}

/* Nothing costs anything, for a policy that does not go by costs. */
static void make_profile(const struct cw_graph *graph, struct cw_cost_profile *ret_profile)
{
    *ret_profile = (struct cw_cost_profile){.n = graph->n, .elements = 1};
    ret_profile->nodes = CW_NEW_ARRAY(struct cw_cost_profile_node, graph->n);
    for (size_t i = 0; i < graph->n; i++)
        ret_profile->nodes[i] =
            (struct cw_cost_profile_node){.name = cw_mem_strdup(graph->nodes[i].name), .keep = 1};
}

/* ---- a relaxed order by a policy ---- */

struct planning {
    const struct cw_checked *written;
    struct cw_chain chain;
    struct cw_cost_profile profile;
    struct cw_optimize_problem problem;
    struct cw_problem_map map;
    struct cw_pecan_op classes[CW_OPTIMIZE_NODES_MAX];
    struct cw_optimizer_plan found;
};

/* What only the data tell is not known here. */
static int classify(struct planning *p, struct cw_err *err)
{
    const double none[CW_OPTIMIZE_NODES_MAX] = {0};
    for (size_t i = 0; i < p->map.n; i++)
        if (cw_pecan_wants_sample(p->written, &p->map, i))
            return cw_err_set(err, CW_E_UNSUPPORTED,
                              "job option optimize: pecan has to see elements before it knows what "
                              "\"%s\" does to their size: plan with cachew plan --optimize pecan "
                              "--relaxed, and give that as plan",
                              p->problem.nodes[i].name);
    cw_pecan_classify(p->written, &p->map, none, p->classes);
    return 0;
}

static int set_problem(const Cachew__V1__JobOptions *options, const struct cw_optimizer *policy,
                       struct planning *p, struct cw_err *err)
{
    int rc = 0;
    if (has_text(options->profile))
        rc = read_profile(options->profile, &p->profile, err);
    else
        make_profile(p->written->graph, &p->profile);
    if (rc == 0 && cw_problem_from(&p->chain, &p->profile, &p->problem, &p->map, err) != 0)
        rc = cw_err_wrap(err, "job option profile");
    if (rc == 0 && policy->needs_classes)
        rc = classify(p, err);
    cw_problem_relax(&p->chain, &p->problem);
    p->problem.epochs = options->epochs > 0 ? (double)options->epochs : 1;
    p->problem.threads = 1;
    p->problem.remote_max = 1;
    p->problem.has_store = false; /* what is cached is decided while the job runs */
    return rc;
}

static void take_order(const struct planning *p, struct cw_order_plan *ret_plan)
{
    const struct cw_graph *graph = p->written->graph;
    size_t first = p->chain.first;
    *ret_plan = (struct cw_order_plan){
        .n = graph->n, .order = CW_NEW_ARRAY(char *, graph->n), .relaxed = true};
    for (size_t i = 0; i < graph->n; i++) {
        size_t node = i < first ? i : first + p->found.plan.order[i - first];
        ret_plan->order[i] = cw_mem_strdup(graph->nodes[node].name);
    }
}

/* Finds a relaxed order; one in which something does not fit is the written one. */
static int find_order(const Cachew__V1__JobOptions *options, const struct cw_checked *written,
                      struct cw_order_plan *ret_plan, struct cw_err *err)
{
    struct planning *p = CW_NEW(struct planning);
    const struct cw_optimizer *policy = policy_of(options);
    p->written = written;
    cw_chain_list(written, &p->chain);
    int rc = set_problem(options, policy, p, err);
    if (rc == 0) {
        policy->plan(&p->problem, p->classes, &p->found);
        if (cw_relaxed_check(&p->chain, p->found.plan.order, NULL) != 0)
            cw_optimizer_as_written(&p->problem, &p->found.plan);
        take_order(p, ret_plan);
    }
    cw_cost_profile_fini(&p->profile);
    cw_chain_fini(&p->chain);
    cw_mem_free(p);
    return rc;
}

/* ---- all of it ---- */

static int check_texts(const Cachew__V1__JobOptions *options, struct cw_order_plan *ret_plan,
                       struct cw_err *err)
{
    struct cw_cost_profile profile = {0};
    int rc = has_text(options->plan) ? cw_first_plan_read(options->plan, ret_plan, err) : 0;
    if (rc == 0 && has_text(options->profile))
        rc = read_profile(options->profile, &profile, err);
    cw_cost_profile_fini(&profile);
    if (rc == 0 && ret_plan->relaxed && !options->relaxed)
        rc = cw_err_set(err, CW_E_INVALID,
                        "job option plan: exact is false: batches would keep their types and "
                        "shapes, not their values; the option relaxed takes it");
    return rc;
}

/* The written pipeline must be known as far as its files say, or be told by options. */
static int rewrite(const Cachew__V1__JobOptions *options, struct cw_graph *graph,
                   struct cw_order_plan *plan, struct cw_graph **ret_made, struct cw_err *err)
{
    struct cw_checked *written = NULL;
    struct cw_rewritten made = {0};
    int rc = cw_graph_check(graph, &written, err);
    if (rc == 0 && plan->n == 0)
        rc = find_order(options, written, plan, err);
    if (rc == 0 && cw_rewrite(written, plan, &made, err) != 0)
        rc = cw_err_wrap(err, "job option plan");
    if (rc == 0)
        *ret_made = cw_graph_ref(made.checked->graph);
    cw_rewritten_fini(&made);
    cw_checked_unref(written);
    return rc;
}

/* The same for a pipeline whose nodes stand for themselves. */
static int make(const Cachew__V1__JobOptions *options, struct cw_graph *graph,
                struct cw_graph **ret_relaxed, struct cw_err *err)
{
    struct cw_order_plan plan = {0};
    struct cw_graph *made = NULL;
    int rc = check_texts(options, &plan, err);
    /* Whether an exact order is one is said when the job runs, if its files must be seen first. */
    if (rc == 0 && (options->relaxed || (plan.n > 0 && cw_graph_incomplete(graph) == SIZE_MAX)))
        rc = rewrite(options, graph, &plan, &made, err);
    if (rc == 0 && options->relaxed && (plan.relaxed || !has_text(options->plan)))
        *ret_relaxed = cw_steal(&made);
    cw_graph_unref(made);
    cw_order_plan_fini(&plan);
    return rc;
}

int cw_first_plan_make(const Cachew__V1__JobOptions *options, struct cw_graph *graph,
                       struct cw_graph **ret_graph, struct cw_err *err)
{
    const char *why = misfit(options);
    *ret_graph = NULL;
    return why ? cw_err_set(err, CW_E_INVALID, "%s", why) : make(options, graph, ret_graph, err);
}
