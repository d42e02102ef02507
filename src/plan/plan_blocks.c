/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out in which blocks lie the elements of a node: what its sources say, through the operators between,
 * which keep their order (docs/decisions/0007-blocks.md). */
#include "base/mem.h"
#include "ops/blocks.h"
#include "ops/index/surveyed.h"
#include "plan/plan_int.h"

/* Blocks of the nodes that are at the input of an operator, or below it. */
struct search {
    const struct cw_plan *plan;
    uint8_t *is_below;
    struct cw_blocks *of; /* of each node */
};

/* Of how many inputs, the first ones, the blocks are looked at. */
static size_t inputs_looked_at(const struct cw_plan_node *node)
{
    return node->step == CW_STEP_MERGE ? 1 : node->inputs_n;
}

static void mark_below(struct search *s, size_t top)
{
    s->is_below[top] = 1;
    for (size_t i = top + 1; i-- > 0;) {
        const struct cw_plan_node *node = &s->plan->nodes[i];
        for (size_t k = 0; s->is_below[i] && k < inputs_looked_at(node); k++)
            s->is_below[node->inputs[k]] = 1;
    }
}

/* Whether a position of an index operator, or one behind it, shows an element of input k from position `begin`
 * on, or one of a later input. */
static bool is_behind(const struct cw_plan *plan, const struct cw_plan_node *node, int64_t pos,
                      size_t k, int64_t begin)
{
    struct cw_at at = {.seed = plan->seed, .tag = node->tag, .in_n = node->in_n, .n = node->n};
    size_t input = 0;
    const int64_t from = node->op->map(node->opts, node->state, &at, pos, &input);
    return input != k ? input > k : from >= begin;
}

/* Finds the first position that is behind; the number of elements: none is. */
static int64_t find_first(const struct cw_plan *plan, const struct cw_plan_node *node, size_t k,
                          int64_t begin)
{
    int64_t lo = 0, hi = node->n;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (is_behind(plan, node, mid, k, begin))
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void through_index(struct search *s, size_t i)
{
    const struct cw_plan_node *node = &s->plan->nodes[i];
    for (size_t k = 0; k < node->inputs_n; k++) {
        const struct cw_blocks *in = &s->of[node->inputs[k]];
        for (size_t b = 0; b < in->n; b++)
            cw_blocks_add(&s->of[i], find_first(s->plan, node, k, in->begins[b]));
    }
}

static void as_input(struct search *s, size_t i)
{
    const struct cw_blocks *in = &s->of[s->plan->nodes[i].inputs[0]];
    for (size_t b = 0; b < in->n; b++)
        cw_blocks_add(&s->of[i], in->begins[b]);
}

/* Whether an index operator gives what comes in in its order, in each epoch. */
static bool keeps_order(const struct cw_plan *plan, size_t i)
{
    const struct cw_plan_node *node = &plan->nodes[i];
    if (plan->checked->nodes[i].surveyed)
        return ((const struct cw_surveyed *)node->state)->orders_n == 0;
    return (node->op->traits & CW_OP_IN_ORDER) != 0;
}

static int refuse(const struct cw_plan_node *node, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "option blocks: %s \"%s\" (%s) %s",
                      node->op->kind == CW_OP_SOURCE ? "source" : "node", node->node->name,
                      node->op->name, why);
}

static int of_source(struct search *s, size_t i, struct cw_err *err)
{
    const struct cw_plan_node *node = &s->plan->nodes[i];
    if (!node->op->blocks)
        return refuse(node,
                      "has no blocks, since each of its elements is read by itself: leave `blocks` "
                      "out",
                      err);
    int rc = node->op->blocks(node->opts, node->state, &s->of[i], err);
    return rc < 0 ? cw_err_wrap(err, "while looking for blocks of \"%s\"", node->node->name) : 0;
}

static int of_node(struct search *s, size_t i, struct cw_err *err)
{
    const struct cw_plan_node *node = &s->plan->nodes[i];
    int rc = 0;
    switch (node->step) {
    case CW_STEP_SOURCE:
        rc = of_source(s, i, err);
        break;
    case CW_STEP_INDEX:
        if (!keeps_order(s->plan, i))
            return refuse(node,
                          "before it does not keep elements of a block together: put the shuffle "
                          "before that node, one at each of its inputs",
                          err);
        through_index(s, i);
        break;
    case CW_STEP_GROUP:
    case CW_STEP_INSIDE:
        return refuse(
            node, "before it makes one element of several: put the shuffle before that node", err);
    case CW_STEP_PASS:
    case CW_STEP_ELEMENT:
    case CW_STEP_MERGE: /* those of its first input */
        as_input(s, i);
        break;
    }
    if (rc == 0)
        cw_blocks_finish(&s->of[i], node->n);
    return rc;
}

static int find(const struct cw_plan *plan, size_t top, struct cw_blocks *ret_blocks,
                struct cw_err *err)
{
    struct search s = {.plan = plan,
                       .is_below = CW_NEW_ARRAY(uint8_t, plan->n),
                       .of = CW_NEW_ARRAY(struct cw_blocks, plan->n)};
    int rc = 0;
    mark_below(&s, top);
    for (size_t i = 0; i <= top && rc == 0; i++)
        if (s.is_below[i])
            rc = of_node(&s, i, err);
    if (rc == 0) {
        *ret_blocks = s.of[top];
        s.of[top] = (struct cw_blocks){0};
    }
    for (size_t i = 0; i <= top; i++)
        cw_blocks_fini(&s.of[i]);
    cw_mem_free(s.of);
    cw_mem_free(s.is_below);
    return rc;
}

/* Operators have other places there, and positions the same ones. */
static int borrow(struct cw_plan *plan, size_t i, struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    const size_t k = plan->written_node[i];
    if (k == SIZE_MAX || plan->written->nodes[k].op != node->op || !plan->written->nodes[k].state)
        return cw_err_set(err, CW_E_INVALID,
                          "shuffles by blocks that the written pipeline has not");
    node->state = plan->written->nodes[k].state;
    node->borrowed = true;
    return 0;
}

int cw_plan_open_by_blocks(struct cw_plan *plan, size_t i, struct cw_op_open *how,
                           struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    struct cw_blocks blocks = {0};
    int rc = 0;
    if (plan->written)
        return borrow(plan, i, err);
    if (node->step != CW_STEP_INDEX)
        return cw_err_set(err, CW_E_INVALID,
                          "option blocks: it stands before a filter that is surveyed, and would be "
                          "done behind it: put it there");
    if (!how->manifest)
        rc = find(plan, node->inputs[0], &blocks, err);
    how->blocks = &blocks;
    if (rc == 0)
        rc = node->op->open(node->opts, how, &node->state, err);
    cw_blocks_fini(&blocks);
    return rc;
}
