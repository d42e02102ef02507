/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/plan_profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "client/tool/plan_work.h"
#include "client/tool/tool.h"
#include "conf/value_yaml.h"
#include "policies/optimize_view.h"
#include "policies/text.h"

static void add_name(struct cw_str *out, const char *name)
{
    if (out->len > 0 && cw_str_text(out)[out->len - 1] != '[')
        cw_str_add(out, ",");
    cw_str_add_json(out, name, strlen(name));
}

/* Moves that the policy would have made if it were not for the bytes. */
static void add_left_out(const struct tool_planned *p, struct cw_str *out)
{
    for (size_t i = 0; i < p->found.left_out_n; i++) {
        const struct cw_optimizer_pair *pair = &p->found.left_out[i];
        cw_str_add(out, i ? ",{" : "{");
        cw_member_text(out, "up", p->problem.nodes[pair->up].name);
        cw_member_text(out, "down", p->problem.nodes[pair->down].name);
        cw_str_add(out, "}");
    }
}

static void add_rejected(const struct tool_planned *p, struct cw_str *out)
{
    for (size_t i = 0; i < p->rejected_n; i++) {
        CW_STR_AUTO what = {0};
        tool_rejected_text(p, &p->rejected[i], &what);
        cw_str_add(out, i ? ",{" : "{");
        cw_member_text(out, "what", cw_str_text(&what));
        cw_member_real(out, "total_ns", p->rejected[i].plan.total_ns);
        cw_str_add(out, "}");
    }
}

static bool is_element(const struct tool_planned *p, size_t place)
{
    return !p->checked || p->checked->nodes[p->map.nodes[place]].op->kind == CW_OP_ELEMENT;
}

/* Which operators work on many elements at once, and which are not called. */
static void add_together(const struct tool_planned *p, struct cw_str *behind, struct cw_str *folded)
{
    struct cw_optimize_row rows[CW_OPTIMIZE_NODES_MAX];

    cw_optimize_rows(&p->problem, &p->found.plan, rows);
    for (size_t i = 0; i < p->problem.n; i++) {
        const char *name = p->problem.nodes[p->found.plan.order[i]].name;
        if (rows[i].is_folded)
            add_name(folded, name);
        else if (rows[i].by_batch && is_element(p, p->found.plan.order[i]))
            add_name(behind, name);
    }
}

/* Whether the profile says that no plan is better. */
static bool is_best(const struct tool_planned *p)
{
    return p->has_costs && p->found.plan.is_best && p->found.plan.gap <= 0;
}

void tool_plan_json(const struct tool_plan_options *options, const struct tool_planned *p,
                    struct cw_str *out)
{
    CW_STR_AUTO order = {0};
    CW_STR_AUTO moved = {0};
    CW_STR_AUTO behind = {0};
    CW_STR_AUTO folded = {0};
    CW_STR_AUTO cache = {0};
    CW_STR_AUTO rejected = {0};
    CW_STR_AUTO left_out = {0};

    add_rejected(p, &rejected);
    add_left_out(p, &left_out);
    add_together(p, &behind, &folded);
    for (size_t i = 0; p->graph && i < p->graph->n; i++)
        add_name(&order, tool_planned_name(p, i));
    for (size_t i = 0; i < p->problem.n; i++) {
        const char *name = p->problem.nodes[p->found.plan.order[i]].name;
        if (!p->graph)
            add_name(&order, name);
        if (p->found.plan.order[i] != i)
            add_name(&moved, name);
    }
    const char *cached = cw_optimize_cached_name(&p->problem, &p->found.plan);
    if (cached)
        cw_str_add_json(&cache, cached, strlen(cached));
    cw_str_addf(out,
                "{\"plan\":1,\"policy\":\"%s\",\"exact\":%s,\"order\":[%s],\"moved\":[%s],"
                "\"behind\":[%s],\"folded\":[%s],\"cache\":%s,"
                "\"workers\":{\"remote\":%u,\"local\":%u},\"total_ns\":%.17g,\"epoch_ns\":%.17g,"
                "\"written_ns\":%.17g,\"bound\":\"%s\",\"rejected\":[%s],\"states\":%zu,\"gap\":%."
                "9g,\"best\":%s,"
                "\"left_out\":[%s]}",
                options->policy, p->is_exact ? "true" : "false", cw_str_text(&order),
                cw_str_text(&moved), cw_str_text(&behind), cw_str_text(&folded),
                cache.len ? cw_str_text(&cache) : "null", p->found.plan.remote, p->found.plan.local,
                p->found.plan.total_ns, p->found.plan.epoch_ns, p->written.total_ns,
                tool_bound_name(p->found.plan.bound), cw_str_text(&rejected), p->found.plan.states,
                p->found.plan.gap, is_best(p) ? "true" : "false", cw_str_text(&left_out));
}

static void print_time(const char *what, double ns)
{
    CW_STR_AUTO text = {0};

    cw_policy_add_time(&text, ns);
    printf("%-10s %s\n", what, cw_str_text(&text));
}

static void print_rejected(const struct tool_planned *p)
{
    for (size_t i = 0; i < p->rejected_n; i++) {
        CW_STR_AUTO text = {0};
        tool_rejected_text(p, &p->rejected[i], &text);
        cw_str_add(&text, ": ");
        cw_policy_add_time(&text, p->rejected[i].plan.total_ns);
        printf("rejected   %s\n", cw_str_text(&text));
    }
}

static void print_text(const struct tool_plan_options *options, const struct tool_planned *p)
{
    const char *cached = cw_optimize_cached_name(&p->problem, &p->found.plan);

    printf("%-10s", "order");
    for (size_t i = 0; i < p->problem.n; i++)
        printf("%s%s%s%s", i ? " > " : " ", p->problem.nodes[p->found.plan.order[i]].name,
               p->found.plan.order[i] != i ? " (moved)" : "",
               i == p->found.plan.cache_after ? " (cached)" : "");
    if (p->found.plan.cache_after >= p->problem.n && cached)
        printf("\ncached     %s", cached);
    printf("\nworkers    %u remote, %u local\n", p->found.plan.remote, p->found.plan.local);
    print_time("all epochs", p->found.plan.total_ns);
    print_time("an epoch", p->found.plan.epoch_ns);
    print_time("as written", p->written.total_ns);
    if (p->found.plan.money > 0)
        printf("money      %.4g\n", p->found.plan.money);
    printf("bound by   %s\n", tool_bound_name(p->found.plan.bound));
    print_rejected(p);
    if (!p->is_exact)
        puts("relaxed    elements have the same types and shapes, and not the same values");
    for (size_t i = 0; i < p->found.left_out_n; i++)
        printf("left out   %s before %s: it would not be %s\n",
               p->problem.nodes[p->found.left_out[i].up].name,
               p->problem.nodes[p->found.left_out[i].down].name,
               options->relaxed ? "allowed" : "exact");
    for (size_t i = 1; p->checked && i < p->problem.n; i++) {
        const char *why = tool_planned_why_not(p, options->relaxed, i - 1, i);
        if (why && is_element(p, i - 1) && is_element(p, i))
            printf("fixed      %s, then %s: the second %s\n", p->problem.nodes[i - 1].name,
                   p->problem.nodes[i].name, why);
    }
}

static int write_plan(const char *path, const struct cw_str *text)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return tool_fail("cannot write %s: %s", path, strerror(errno));
    bool ok = fwrite(cw_str_text(text), 1, text->len, file) == text->len;
    ok = fclose(file) == 0 && ok;
    return ok ? TOOL_OK : tool_fail("cannot write %s: %s", path, strerror(errno));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* As YAML if the file is named so, else as JSON. */
static int write_plan_as(const char *path, const struct cw_str *json)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    CW_STR_AUTO yaml = {0};

    if (!ends_with(path, ".yaml") && !ends_with(path, ".yml"))
        return write_plan(path, json);
    if (cw_value_parse(cw_str_text(json), json->len, path, &value, &err) < 0)
        return tool_fail_err(&err);
    cw_value_print_yaml(&value, &yaml);
    cw_value_fini(&value);
    return write_plan(path, &yaml);
}

int tool_plan_show(const struct tool_plan_options *options, bool json, const struct tool_planned *p)
{
    CW_STR_AUTO text = {0};

    tool_planned_notes(p);
    tool_plan_json(options, p, &text);
    cw_str_add(&text, "\n");
    if (json)
        fputs(cw_str_text(&text), stdout);
    else
        print_text(options, p);
    return options->output ? write_plan_as(options->output, &text) : TOOL_OK;
}

int tool_plan_profile(const char *pipeline_path, const char *profile_path,
                      const struct tool_plan_options *options, bool json)
{
    struct cw_err err = {0};
    struct tool_planned *p = CW_NEW(struct tool_planned);
    int rc = tool_planned_load(pipeline_path, profile_path, options, p, &err);
    int code = TOOL_FAILED;

    if (rc == 0) {
        tool_planned_search(options, p);
        code = tool_plan_show(options, json, p);
    }
    tool_planned_fini(p);
    cw_mem_free(p);
    return rc < 0 ? tool_fail_err(&err) : code;
}
