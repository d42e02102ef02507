/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/explain_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/tool/profile_run.h"
#include "rewrite/apply.h"
#include "rewrite/relaxed.h"

bool tool_explain_is_file(const char *what)
{
    struct stat st;

    return stat(what, &st) == 0 && S_ISREG(st.st_mode) && access(what, R_OK) == 0;
}

const struct cw_node *tool_explained_node(const struct tool_explained *e, size_t place)
{
    return &e->planned.graph->nodes[e->planned.map.nodes[place]];
}

/* ---- in words ---- */

static const char *name_of(const struct tool_explained *e, size_t place)
{
    return tool_explained_node(e, place)->name;
}

void tool_what_if_text(const struct tool_explained *e, const struct cw_what_if *it,
                       struct cw_str *out)
{
    switch (it->kind) {
    case CW_WHAT_IF_WORKER_MORE:
        cw_str_add(out, "a worker more");
        break;
    case CW_WHAT_IF_WORKER_LESS:
        cw_str_add(out, "a worker less");
        break;
    case CW_WHAT_IF_CACHE:
        cw_str_add(out, "10 GB of cache more");
        break;
    case CW_WHAT_IF_TRAINER:
        cw_str_add(out, "a trainer twice as fast");
        break;
    case CW_WHAT_IF_HALF:
        cw_str_addf(out, "%s at half its cost", name_of(e, it->op));
        break;
    case CW_WHAT_IF_RELAXED:
        cw_str_add(out, "the relaxed order");
        break;
    case CW_WHAT_IF_CUT:
        cw_str_addf(out, "what follows %s beside the trainer", name_of(e, it->op));
        break;
    }
}

/* ---- */

static void find_what_if(struct tool_explained *e)
{
    struct tool_planned *p = &e->planned;
    struct cw_optimize_problem *relaxed = NULL;

    if (!e->relaxed) {
        relaxed = CW_NEW(struct cw_optimize_problem);
        *relaxed = p->problem;
        cw_problem_relax(&p->chain, relaxed);
    }
    e->what_if_n = cw_optimize_what_if(&p->problem, relaxed, &p->found.plan, e->what_if);
    cw_mem_free(relaxed);
}

void tool_explained_find(struct tool_explained *e)
{
    const struct tool_planned *p = &e->planned;
    const struct cw_optimize_plan *plan = &p->found.plan;

    cw_optimize_rows(&p->problem, plan, e->rows);
    cw_optimize_epoch(&p->problem, plan, &e->epoch);
    if (!p->has_costs)
        return;
    find_what_if(e);
}

/* ---- what was measured of it ---- */

const struct tool_measured_node *tool_explained_measured(const struct tool_explained *e,
                                                         size_t place)
{
    const char *name = name_of(e, e->planned.found.plan.order[place]);
    const struct tool_measured_node *node = tool_measured_find(&e->measured, name);

    return node && node->calls > 0 ? node : NULL;
}

/* What was measured of the nodes before the chain is part of its first one, as in the problem. */
static double before_ns(const struct tool_explained *e)
{
    double ns = 0;

    for (size_t i = 0; i < e->planned.map.nodes[0]; i++) {
        const struct tool_measured_node *node =
            tool_measured_find(&e->measured, e->planned.graph->nodes[i].name);
        ns += node ? node->ns : 0;
    }
    return ns;
}

void tool_explained_compare(struct tool_explained *e)
{
    const struct cw_optimize_problem *problem = &e->planned.problem;
    double rows = problem->elements, all_ns = 0, first_ns = before_ns(e);

    for (size_t i = 0; i < problem->n; i++) {
        const struct tool_measured_node *node = tool_explained_measured(e, i);
        struct cw_optimize_row *row = &e->measured_rows[i];
        double keep = node ? node->keep : problem->nodes[e->planned.found.plan.order[i]].keep;
        *row = (struct cw_optimize_row){.rows_in = rows,
                                        .rows = rows * keep,
                                        .bytes = node ? node->bytes : 0,
                                        .ns = (node ? node->ns : 0) + (i == 0 ? first_ns : 0),
                                        .cpu_ns = node ? node->cpu_ns : 0};
        row->share = row->rows_in * row->ns;
        all_ns += row->share;
        rows = row->rows;
    }
    for (size_t i = 0; i < problem->n; i++)
        e->measured_rows[i].share /= all_ns > 0 ? all_ns : 1;
}

static int run_plan(double seconds, const struct tool_plan_options *options,
                    struct tool_explained *e, struct cw_err *err)
{
    struct cw_order_plan order = {0};
    struct cw_rewritten made = {0};

    tool_planned_order(&e->planned, &order);
    int rc = cw_rewrite(e->planned.given, &order, &made, err);
    if (rc == 0)
        rc = tool_measured_run(made.checked, seconds, options->threads, &e->measured, err);
    cw_rewritten_fini(&made);
    cw_order_plan_fini(&order);
    return rc;
}

/* What one worker would give that caches nothing, as a run in one process does. */
static void predict_run(struct tool_explained *e)
{
    struct cw_optimize_problem *problem = CW_NEW(struct cw_optimize_problem);
    struct cw_optimize_plan one = e->planned.found.plan;

    *problem = e->planned.problem;
    problem->trainer_ns = problem->network_bytes_s = problem->source_bytes_s = 0;
    one.cache_after = CW_OPTIMIZE_NO_CACHE;
    one.remote = 1;
    one.local = 0;
    cw_optimize_price(problem, &one);
    e->predicted_s = one.epoch_ns > 0 ? problem->elements / one.epoch_ns * 1e9 : 0;
    cw_mem_free(problem);
}

static int analyze(double seconds, const struct tool_plan_options *options,
                   struct tool_explained *e, struct cw_err *err)
{
    int rc = run_plan(seconds, options, e, err);

    if (rc < 0)
        return rc;
    tool_explained_compare(e);
    predict_run(e);
    return 0;
}

/* ---- */

/* The costs: of a file, of a run of the written order, or none. */
static int get_costs(const char *profile_path, double analyze_s, struct tool_planned *p,
                     struct cw_err *err)
{
    if (profile_path || analyze_s <= 0)
        return tool_planned_profile(profile_path, p, err);
    p->has_costs = true;
    return tool_profile_checked(p->checked, analyze_s, 1, NULL, NULL, &p->profile, err);
}

int tool_explained_load(const char *path, const char *profile_path, double analyze_s,
                        const struct tool_plan_options *options, struct tool_explained *e,
                        struct cw_err *err)
{
    struct tool_planned *p = &e->planned;
    int rc = tool_planned_open(path, p, err);

    if (rc == 0)
        rc = get_costs(profile_path, analyze_s, p, err);
    if (rc == 0)
        rc = tool_planned_prepare(profile_path ? profile_path : path, options, p, err);
    if (rc < 0)
        return rc;
    e->relaxed = options->relaxed;
    tool_planned_search(options, p);
    tool_explained_find(e);
    return analyze_s > 0 ? analyze(analyze_s, options, e, err) : 0;
}

void tool_explained_fini(struct tool_explained *e)
{
    tool_measured_fini(&e->measured);
    tool_planned_fini(&e->planned);
}
