/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/check_ways.h"

#include "base/json_member.h"
#include "graph/sparse.h"

static void say_survey(const struct cw_checked *checked, size_t i, struct cw_str *out)
{
    const size_t because = checked->nodes[i].survey_for;
    cw_str_add(out,
               "a survey finds out once which elements it keeps, when a job is prepared, since ");
    if (because == i)
        cw_str_add(out, "its option survey asks for it");
    else
        cw_str_addf(out, "\"%s\" must know how many there are",
                    checked->graph->nodes[because].name);
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
