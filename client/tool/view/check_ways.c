/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/check_ways.h"

#include "base/json_member.h"
#include "base/mem.h"
#include "graph/cacheable.h"
#include "graph/sparse.h"
#include "graph/surveyable.h"

/* Which operators the survey calls for each element that comes to it. */
static void say_work(const struct cw_checked *checked, size_t i, struct cw_str *out)
{
    const size_t base = cw_survey_base(checked, i);
    size_t n = 0;
    for (size_t k = base + 1; k <= i; k++) {
        if (!cw_survey_has(checked, i, k) || checked->nodes[k].op->kind == CW_OP_INDEX ||
            cw_passes_by(checked->nodes[k].op))
            continue;
        cw_str_addf(out, n++ > 0 ? ", \"%s\"" : "; that computes \"%s\"",
                    checked->graph->nodes[k].name);
    }
    cw_str_addf(out, " once for each element of \"%s\", before the first batch",
                checked->graph->nodes[base].name);
}

/* Returns a node behind that asks for elements in another order, one by one; SIZE_MAX: none does. */
static size_t orders_behind(const struct cw_checked *checked, size_t i)
{
    cw_autofree bool *marks = CW_NEW_ARRAY(bool, checked->graph->n);
    marks[i] = true;
    for (size_t k = i + 1; k < checked->graph->n; k++) {
        const struct cw_checked_node *node = &checked->nodes[k];
        for (size_t in = 0; in < node->inputs_n; in++)
            marks[k] = marks[k] || (marks[node->inputs[in]] && node->op->kind != CW_OP_GROUP);
        if (marks[k] && node->op->kind == CW_OP_INDEX && cw_op_draws(node->op, node->opts))
            return k;
    }
    return SIZE_MAX;
}

static void say_survey(const struct cw_checked *checked, size_t i, struct cw_str *out)
{
    const size_t because = checked->nodes[i].survey_for;
    const bool is_apart = checked->nodes[i].op->takes_apart;
    const size_t orders = is_apart ? orders_behind(checked, i) : SIZE_MAX;
    cw_str_addf(out, "a survey finds out once %s, when a job is prepared, since ",
                is_apart ? "how many elements it makes of each" : "which elements it keeps");
    if (because == i)
        cw_str_add(out, "its option survey asks for it");
    else
        cw_str_addf(out, "\"%s\" must know how many there are",
                    checked->graph->nodes[because].name);
    say_work(checked, i, out);
    if (orders != SIZE_MAX)
        cw_str_addf(
            out,
            "; and since \"%s\" takes what it makes in another order, what stands before it "
            "is computed about once for each of them",
            checked->graph->nodes[orders].name);
}

static void say_sparse(const struct cw_sparse *sparse, struct cw_str *out)
{
    if (cw_sparse_is_inside(sparse))
        cw_str_add(out, "workers compute what stands behind it inside items, since that needs only "
                        "the rows of one");
    else
        cw_str_addf(out,
                    "the trainer's process cuts its rows into batches%s, since nothing else "
                    "behind it needs to know how many there are",
                    sparse->pads != SIZE_MAX ? " and fills them up" : "");
}

typedef void way_fn(const struct cw_checked *checked, size_t node, const char *way,
                    const struct cw_str *why, struct cw_str *out);

static void go_over(const struct cw_checked *checked, way_fn *fn, struct cw_str *out)
{
    struct cw_sparse sparse;
    struct cw_err ignored = {0};
    const bool known = cw_sparse_find(checked, &sparse, &ignored) == 0;
    for (size_t i = 0; i < checked->graph->n; i++) {
        CW_STR_AUTO why = {0};
        if (checked->nodes[i].surveyed) {
            say_survey(checked, i, &why);
            fn(checked, i, "survey", &why, out);
        } else if (known && i == sparse.first) {
            say_sparse(&sparse, &why);
            fn(checked, i, cw_sparse_is_inside(&sparse) ? "item" : "client", &why, out);
        }
    }
}

static void add_line(const struct cw_checked *checked, size_t node, const char *way,
                     const struct cw_str *why, struct cw_str *out)
{
    (void)way;
    cw_str_addf(out, "behind \"%s\": %s\n", checked->graph->nodes[node].name, cw_str_text(why));
}

static void add_json(const struct cw_checked *checked, size_t node, const char *way,
                     const struct cw_str *why, struct cw_str *out)
{
    cw_str_add(out, out->len > 0 && out->s[out->len - 1] == '}' ? ",{" : "{");
    cw_member_text(out, "node", checked->graph->nodes[node].name);
    cw_member_text(out, "way", way);
    cw_member_text(out, "text", cw_str_text(why));
    cw_str_add_char(out, '}');
}

void tool_check_ways(const struct cw_checked *checked, struct cw_str *out)
{
    go_over(checked, add_line, out);
}

void tool_check_ways_json(const struct cw_checked *checked, struct cw_str *out)
{
    CW_STR_AUTO list = {0};
    go_over(checked, add_json, &list);
    cw_str_add(out, cw_str_text(&list));
}
