/* SPDX-License-Identifier: Apache-2.0 */
/* The text of cachew explain FILE.json: the tree with the output on top, and below it what decides, what
 * was not taken, what may not move, and what would be if. */
#include "client/tool/view/explain_plan.h"

#include <stdio.h>

#include "client/tool/tool.h"
#include "policies/text.h"

#define OPTIONS_BYTES 40 /* that are shown of an operator's options */

/* ---- the tree ---- */

static void add_mark(struct cw_str *out, const char *mark)
{
    cw_str_add(out, out->len ? ", " : "");
    cw_str_add(out, mark);
}

/* The checked node at a place of the plan's order. */
static const struct cw_checked_node *checked_at(const struct tool_explained *e, size_t place)
{
    const struct tool_planned *p = &e->planned;
    return &p->checked->nodes[p->map.nodes[p->found.plan.order[place]]];
}

static bool works_by_strips(const struct tool_explained *e, const struct cw_checked_node *node)
{
    return node->op->kind == CW_OP_ELEMENT && node->inputs_n == 1 &&
           cw_strips_work(node->op, node->opts, &e->planned.checked->nodes[node->inputs[0]].out,
                          node->fields, node->fields_n);
}

/* Whether the operator and the one behind it go over an image in one pass (src/plan/plan_strips.c). */
static bool is_one_pass(const struct tool_explained *e, size_t place)
{
    if (!e->planned.checked || place + 1 >= e->planned.problem.n ||
        place == e->planned.found.plan.cache_after)
        return false;
    const struct cw_checked_node *node = checked_at(e, place), *next = checked_at(e, place + 1);
    return works_by_strips(e, node) && works_by_strips(e, next) &&
           node->fields[0] == next->fields[0] &&
           cw_strips_follow(node->op, node->opts, next->op, &node->out.fields[node->fields[0]]);
}

void tool_explain_marks(const struct tool_explained *e, size_t place, struct cw_str *out)
{
    const struct cw_optimize_plan *plan = &e->planned.found.plan;
    bool has_cache = plan->cache_after < e->planned.problem.n;
    const struct tool_measured_node *measured = tool_explained_measured(e, place);

    if (plan->order[place] != place)
        add_mark(out, "moved");
    if (place == plan->cache_after)
        add_mark(out, "cached");
    if (has_cache && place <= plan->cache_after)
        add_mark(out, "first epoch only");
    if (cw_optimize_is_folded(&e->planned.problem, plan, place))
        add_mark(out, "folded");
    if (measured && measured->by_block)
        add_mark(out, "many rows at once");
    if (measured && measured->makes_part)
        add_mark(out, "makes a part");
    if (is_one_pass(e, place))
        add_mark(out, "one pass with the next");
}

static void add_name(struct tool_table *table, size_t depth, const char *name)
{
    tool_table_add(table, "%*s%s%s", depth > 0 ? (int)(depth - 1) * 2 : 0, "",
                   depth > 0 ? "-> " : "", name);
}

static void add_operator(struct tool_table *table, const struct cw_node *node)
{
    CW_STR_AUTO options = {0};

    if (node->options.n > 0)
        cw_value_print(&node->options, &options);
    bool is_long = options.len > OPTIONS_BYTES;
    tool_table_add(table, "%s%s%.*s%s", node->op, options.len ? " " : "", OPTIONS_BYTES,
                   cw_str_text(&options), is_long ? "..." : "");
}

static void add_time(struct tool_table *table, double ns)
{
    CW_STR_AUTO text = {0};

    cw_policy_add_time(&text, ns);
    tool_table_add(table, "%s", cw_str_text(&text));
}

/* One cell of numbers: predicted, and measured if something was. */
static void add_cell(struct tool_table *table, const struct cw_str *predicted,
                     const struct cw_str *measured)
{
    tool_table_add(table, measured ? "%s | %s" : "%s", cw_str_text(predicted),
                   measured ? cw_str_text(measured) : "");
}

/* What a row is made of, as text: rows, bytes, time, share. */
#define CELLS 4
static void print_cells(const struct cw_optimize_row *row, struct cw_str cells[CELLS])
{
    tool_print_count(row->rows, &cells[0]);
    if (row->bytes > 0)
        tool_print_bytes(row->bytes, &cells[1]);
    else
        cw_str_add(&cells[1], "-");
    cw_policy_add_time(&cells[2], row->ns);
    cw_str_addf(&cells[3], "%.1f %%", 100 * row->share);
}

static void add_numbers(struct tool_table *table, const struct cw_optimize_row *row,
                        const struct cw_optimize_row *measured)
{
    struct cw_str predicted[CELLS] = {0}, real[CELLS] = {0};

    print_cells(row, predicted);
    if (measured)
        print_cells(measured, real);
    for (size_t i = 0; i < CELLS; i++) {
        add_cell(table, &predicted[i], measured ? &real[i] : NULL);
        cw_str_fini(&predicted[i]);
        cw_str_fini(&real[i]);
    }
}

static void add_spec(struct tool_table *table, const struct cw_spec *spec)
{
    CW_STR_AUTO text = {0};

    cw_spec_print(spec, &text);
    tool_table_add(table, "%s", cw_str_text(&text));
}

/* Adds the nodes below the chain, whose costs are those of the node where they meet. */
static void add_branches(const struct tool_explained *e, size_t depth, struct tool_table *table)
{
    const struct tool_planned *p = &e->planned;
    size_t meeting = p->map.nodes[0];

    for (size_t i = meeting; i-- > 0;) {
        add_name(table, depth, p->graph->nodes[i].name);
        add_operator(table, &p->graph->nodes[i]);
        if (!e->planned.has_costs)
            add_spec(table, &p->checked->nodes[i].out);
        for (size_t k = 0; e->planned.has_costs && k < 4; k++)
            tool_table_add(table, "-");
        tool_table_add(table, e->planned.has_costs ? "its time is in %s" : "read by %s",
                       p->graph->nodes[meeting].name);
    }
}

static void print_tree(const struct tool_explained *e)
{
    static const char *const HEADS[] = {"NODE", "OPERATOR", "ROWS", "BYTES", "TIME", "SHARE", ""};
    static const char *const DROP[] = {"SHARE", "BYTES", "OPERATOR", NULL};
    static const char *const BARE[] = {"NODE", "OPERATOR", "GIVES", ""};
    const struct tool_planned *p = &e->planned;
    struct tool_table table;
    size_t n = p->problem.n;

    tool_table_init(&table, e->planned.has_costs ? CW_ARRAY_LEN(HEADS) : CW_ARRAY_LEN(BARE),
                    e->planned.has_costs ? HEADS : BARE);
    for (size_t i = n; i-- > 0;) {
        size_t place = p->found.plan.order[i];
        CW_STR_AUTO marks = {0};
        tool_explain_marks(e, i, &marks);
        add_name(&table, n - 1 - i, tool_explained_node(e, place)->name);
        add_operator(&table, tool_explained_node(e, place));
        if (e->planned.has_costs)
            add_numbers(&table, &e->rows[i],
                        tool_explained_measured(e, i) ? &e->measured_rows[i] : NULL);
        else
            add_spec(&table, &p->checked->nodes[p->map.nodes[place]].out);
        tool_table_add(&table, "%s", cw_str_text(&marks));
    }
    add_branches(e, n, &table);
    tool_table_fit_terminal(&table, DROP);
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

/* ---- what decides ---- */

static void add_rate(struct cw_str *out, double elements, double ns)
{
    CW_STR_AUTO count = {0};

    tool_print_count(elements / ns * 1e9, &count);
    cw_str_add(out, cw_str_text(&count));
}

static void add_bound(const struct tool_explained *e, enum cw_optimize_bound bound,
                      struct cw_str *out)
{
    const struct cw_optimize_plan *plan = &e->planned.found.plan;
    unsigned workers = plan->remote + plan->local;

    if (bound == CW_BOUND_THREADS)
        cw_str_addf(out, "threads of %u worker%s", workers, workers == 1 ? "" : "s");
    else if (bound == CW_BOUND_CPU)
        cw_str_addf(out, "CPU of %u worker%s with %.3g cores%s", workers, workers == 1 ? "" : "s",
                    e->planned.problem.cores, workers == 1 ? "" : " each");
    else
        cw_str_addf(out, "the %s", tool_bound_name(bound));
}

static void print_bound(const struct tool_explained *e)
{
    const struct cw_optimize_plan *plan = &e->planned.found.plan;
    const double *ns = e->epoch.bound_ns;
    double elements = e->planned.problem.elements;
    CW_STR_AUTO out = {0};
    bool is_first = true;

    if (ns[plan->bound] <= 0)
        return;
    cw_str_add(&out, "Bound by ");
    add_bound(e, plan->bound, &out);
    cw_str_add(&out, ": ");
    add_rate(&out, elements, ns[plan->bound]);
    cw_str_add(&out, " elements/s");
    for (size_t i = 0; i < CW_BOUNDS_N; i++) {
        if (i == plan->bound || ns[i] <= 0)
            continue;
        cw_str_add(&out, is_first ? "; without it " : ", ");
        add_bound(e, (enum cw_optimize_bound)i, &out);
        cw_str_add(&out, " at ");
        add_rate(&out, elements, ns[i]);
        is_first = false;
    }
    cw_str_add(&out, ".");
    tool_print_lines(cw_str_text(&out), 0);
}

static void print_times(const struct tool_plan_options *options, const struct tool_explained *e)
{
    const struct tool_planned *p = &e->planned;
    const struct cw_optimize_plan *plan = &p->found.plan;
    CW_STR_AUTO out = {0};

    cw_str_add(&out, "An epoch takes ");
    cw_policy_add_time(&out, plan->epoch_ns);
    cw_str_add(&out, ", the first ");
    cw_policy_add_time(&out, plan->first_ns);
    cw_str_addf(&out, ", all (%llu) ", (unsigned long long)options->epochs);
    cw_policy_add_time(&out, plan->total_ns);
    cw_str_add(&out, "; as written ");
    cw_policy_add_time(&out, p->written.total_ns);
    if (plan->total_ns > 0)
        cw_str_addf(&out, ", %.2f times as long", p->written.total_ns / plan->total_ns);
    cw_str_addf(&out, ". It runs on %u remote and %u local workers.", plan->remote, plan->local);
    tool_print_lines(cw_str_text(&out), 0);
}

/* ---- what was not taken, and what may not move ---- */

static void print_rejected(const struct tool_explained *e)
{
    static const char *const HEADS[] = {"REJECTED", "ALL EPOCHS", "OF THIS PLAN"};
    const struct tool_planned *p = &e->planned;
    struct tool_table table;

    if (p->rejected_n == 0)
        return;
    puts("");
    tool_table_init(&table, CW_ARRAY_LEN(HEADS), HEADS);
    for (size_t i = 0; i < p->rejected_n; i++) {
        CW_STR_AUTO what = {0};
        tool_rejected_text(p, &p->rejected[i], &what);
        tool_table_add(&table, "%s", cw_str_text(&what));
        add_time(&table, p->rejected[i].plan.total_ns);
        tool_table_add(&table, "%.1f %%",
                       100 * p->rejected[i].plan.total_ns / p->found.plan.total_ns);
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_pairs(const struct tool_explained *e)
{
    bool is_first = true;

    for (size_t i = 1; i < e->planned.problem.n; i++) {
        const char *why = tool_planned_why_not(&e->planned, e->relaxed, i - 1, i);
        CW_STR_AUTO out = {0};
        if (!why)
            continue;
        if (is_first)
            puts("\nThese stay as they are written:");
        is_first = false;
        cw_str_addf(&out, "%s, then %s: the second %s", tool_explained_node(e, i - 1)->name,
                    tool_explained_node(e, i)->name, why);
        tool_print_lines(cw_str_text(&out), 2);
    }
}

/* ---- what if ---- */

/* What is otherwise in the plan of a case. */
static void add_otherwise(const struct tool_explained *e, const struct cw_what_if *it,
                          struct tool_table *table)
{
    const struct cw_optimize_plan *plan = &e->planned.found.plan;
    size_t n = e->planned.problem.n;
    CW_STR_AUTO out = {0};
    bool is_moved = false;

    for (size_t i = 0; i < n; i++)
        is_moved |= it->plan.order[i] != plan->order[i];
    for (size_t i = 0; is_moved && i < n; i++)
        cw_str_addf(&out, "%s%s", i ? " > " : "", tool_explained_node(e, it->plan.order[i])->name);
    const char *cached = cw_optimize_cached_name(&e->planned.problem, &it->plan);
    if (cached && (is_moved || it->plan.cache_after != plan->cache_after))
        cw_str_addf(&out, "%scached behind %s", out.len ? ", " : "", cached);
    else if (!cached && plan->cache_after != CW_OPTIMIZE_NO_CACHE)
        add_mark(&out, "no cache");
    if (it->plan.remote != plan->remote || it->plan.local != plan->local)
        cw_str_addf(&out, "%s%u remote, %u local", out.len ? ", " : "", it->plan.remote,
                    it->plan.local);
    tool_table_add(table, "%s", out.len ? cw_str_text(&out) : "the same plan");
}

static void add_epoch(const struct tool_plan_options *options, double epoch_ns,
                      const struct cw_optimize_epoch *epoch, struct tool_table *table)
{
    CW_STR_AUTO bytes = {0};

    add_time(table, epoch_ns);
    add_time(table, epoch->cpu_ns);
    tool_print_bytes(epoch->network_bytes, &bytes);
    tool_table_add(table, "%s", cw_str_text(&bytes));
    if (options->worker_price + options->trainer_price + options->store_price > 0)
        tool_table_add(table, "%.4g", epoch->money);
    else
        tool_table_add(table, "-");
}

static void print_what_if(const struct tool_plan_options *options, const struct tool_explained *e)
{
    static const char *const HEADS[] = {"WHAT IF", "EPOCH", "CPU", "TRAVELS", "MONEY", "PLAN"};
    static const char *const DROP[] = {"MONEY", "TRAVELS", "CPU", NULL};
    struct tool_table table;

    if (e->what_if_n == 0)
        return;
    puts("");
    tool_table_init(&table, CW_ARRAY_LEN(HEADS), HEADS);
    tool_table_add(&table, "(nothing)");
    add_epoch(options, e->planned.found.plan.epoch_ns, &e->epoch, &table);
    tool_table_add(&table, "this plan");
    for (size_t i = 0; i < e->what_if_n; i++) {
        CW_STR_AUTO what = {0};
        tool_what_if_text(e, &e->what_if[i], &what);
        tool_table_add(&table, "%s", cw_str_text(&what));
        add_epoch(options, e->what_if[i].plan.epoch_ns, &e->what_if[i].epoch, &table);
        add_otherwise(e, &e->what_if[i], &table);
    }
    tool_table_fit_terminal(&table, DROP);
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

/* How well the whole was predicted. */
static void print_run(const struct tool_plan_options *options, const struct tool_explained *e)
{
    CW_STR_AUTO out = {0};

    if (e->measured.elements_s <= 0)
        return;
    cw_str_addf(&out, "Measured in this process with %llu thread%s, without a cache: ",
                (unsigned long long)options->threads, options->threads == 1 ? "" : "s");
    tool_print_count(e->measured.elements_s, &out);
    cw_str_add(&out, " elements/s; predicted for that: ");
    tool_print_count(e->predicted_s, &out);
    cw_str_addf(&out, " (%.0f %% of it). CPU time of an element: ",
                100 * e->predicted_s / e->measured.elements_s);
    cw_policy_add_time(&out, e->measured.cpu_ns);
    cw_str_add(&out, ", predicted ");
    cw_policy_add_time(&out, e->planned.found.plan.cpu_ns);
    cw_str_add(&out, ".");
    tool_print_lines(cw_str_text(&out), 0);
}

void tool_explain_plan(const struct tool_plan_options *options, const struct tool_explained *e)
{
    CW_STR_AUTO head = {0};
    cw_str_addf(&head, "Planned by %s, %s.%s", options->policy,
                e->planned.is_exact ? "exact: every batch stays equal"
                                    : "relaxed: types and shapes are those of the written order, "
                                      "and values are not",
                e->measured.n > 0 ? " Numbers are predicted | measured." : "");
    tool_print_lines(cw_str_text(&head), 0);
    puts("");
    print_tree(e);
    if (e->planned.has_costs) {
        puts("");
        print_bound(e);
        print_times(options, e);
        print_run(options, e);
    } else {
        puts("\nWith --profile it is said what each costs, and what would be better.");
    }
    print_rejected(e);
    print_pairs(e);
    print_what_if(options, e);
}
