/* SPDX-License-Identifier: Apache-2.0 */
/* Names the source elements of which an element is made, for messages. It walks like eval.c, but
 * without data. */
#include "exec/eval.h"

/* The most sources that are named; a batch may have a thousand files. */
#define SOURCES_MAX 3
#define TEXT_MAX 400

static void describe_source(const struct cw_plan_node *node, int64_t pos, struct cw_str *out)
{
    cw_str_add(out, out->len ? " + " : "");
    if (node->op->describe)
        node->op->describe(node->opts, node->state, pos, out);
    else
        cw_str_addf(out, "%s %lld", node->node->name, (long long)pos);
}

/* Calls describe_source for each source element, unless out is NULL. Returns how many there are, up
 * to one more than are named, and the last of them. */
static size_t walk(const struct cw_plan *plan, uint64_t epoch, const struct cw_walk_at *at,
                   struct cw_walk_at *ret_source, struct cw_str *out)
{
    struct cw_walk_at todo[SOURCES_MAX + 1];
    size_t n = 0, sources = 0;
    todo[n++] = *at;
    while (n) {
        struct cw_walk_at here = todo[--n];
        const struct cw_plan_node *node = &plan->nodes[here.node];
        if (node->step == CW_STEP_SOURCE) {
            *ret_source = here;
            if (++sources > SOURCES_MAX || (out && out->len > TEXT_MAX))
                break;
            if (out)
                describe_source(node, here.pos, out);
            continue;
        }
        if (node->step == CW_STEP_INDEX) {
            here.node = cw_plan_map(plan, node, epoch, &here.pos, &here.rep);
            todo[n++] = here;
            continue;
        }
        if (node->step == CW_STEP_GROUP)
            here.pos *= node->shift; /* position of its first row */
        size_t inputs = node->step == CW_STEP_MERGE ? node->inputs_n : 1;
        for (size_t k = CW_MIN(inputs, SOURCES_MAX + 1 - n); k > 0; k--) {
            here.node = node->inputs[k - 1];
            todo[n++] = here;
        }
    }
    return sources;
}

void cw_eval_describe(const struct cw_plan *plan, uint64_t epoch, const struct cw_walk_at *at,
                      int64_t *ret_id, struct cw_str *out)
{
    struct cw_walk_at source = *at;
    *ret_id = walk(plan, epoch, at, &source, out) == 1 ? source.pos : -1;
}

const char *cw_eval_locate(const struct cw_plan *plan, uint64_t epoch, const struct cw_walk_at *at,
                           int64_t *ret_record)
{
    struct cw_walk_at source = *at;
    *ret_record = -1;
    if (walk(plan, epoch, at, &source, NULL) != 1)
        return NULL;
    const struct cw_plan_node *node = &plan->nodes[source.node];
    return node->op->locate ? node->op->locate(node->opts, node->state, source.pos, ret_record)
                            : NULL;
}
