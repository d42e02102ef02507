/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan in another order has of the plan of the written graph: its open sources, and the keys of its
 * elements. */
#include "base/mem.h"
#include "plan/plan_int.h"
#include <string.h>

size_t cw_plan_node_named(const struct cw_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n; i++)
        if (cw_str_eq(plan->nodes[i].node->name, name))
            return i;
    return SIZE_MAX;
}

/* Whether the node of the other graph gives the elements of this source of the written one. */
static bool is_source(const struct cw_plan *written, size_t i, const struct cw_checked_node *node)
{
    return i != SIZE_MAX && written->nodes[i].op == node->op &&
           cw_hash_eq(written->checked->nodes[i].fingerprint, node->fingerprint);
}

int cw_plan_borrow_source(const struct cw_plan *plan, struct cw_plan_node *node, size_t i,
                          struct cw_err *err)
{
    size_t k = plan->written_node[i];
    if (!is_source(plan->written, k, &plan->checked->nodes[i]))
        return cw_err_set(err, CW_E_INVALID, "is a source that the written pipeline has not");
    node->state = plan->written->nodes[k].state;
    cw_spec_fini(&node->out);
    node->out = cw_spec_copy(&plan->written->nodes[k].out);
    node->borrowed = true;
    return 0;
}

int cw_plan_borrow_lent(const struct cw_plan *plan, size_t i)
{
    struct cw_plan_node *node = &plan->nodes[i];
    const struct cw_plan_node *other = &plan->lent->nodes[i];
    node->state = other->state;
    node->borrowed = true;
    if (node->op->kind == CW_OP_SOURCE) { /* which may know more of its elements since it is open */
        cw_spec_fini(&node->out);
        node->out = cw_spec_copy(&other->out);
    }
    return 0;
}

int cw_plan_borrow_values(const struct cw_plan *plan, size_t i, struct cw_err *err)
{
    const size_t k = plan->written_node[i];
    const struct cw_checked *mine = plan->checked, *theirs = plan->written->checked;
    if (k == SIZE_MAX || !cw_hash_eq(mine->nodes[i].fingerprint, theirs->nodes[k].fingerprint))
        return cw_err_set(err, CW_E_INVALID,
                          "has other operators before it than in the written pipeline");
    plan->nodes[i].state = plan->written->nodes[k].state;
    plan->nodes[i].borrowed = true;
    return 0;
}

/* Marks the written nodes that are at a node or below it. Returns false if some node has no
 * counterpart. Inputs come before the nodes that read them. */
static bool mark_below(const struct cw_plan *plan, size_t i, uint8_t *marks)
{
    cw_autofree uint8_t *wanted = CW_NEW_ARRAY(uint8_t, plan->n);
    wanted[i] = 1;
    for (size_t k = i + 1; k-- > 0;) {
        size_t at = plan->written_node ? plan->written_node[k] : k;
        if (!wanted[k])
            continue;
        if (at == SIZE_MAX)
            return false;
        marks[at] = 1;
        for (size_t n = 0; n < plan->nodes[k].inputs_n; n++)
            wanted[plan->nodes[k].inputs[n]] = 1;
    }
    return true;
}

size_t cw_plan_same_elements(const struct cw_plan *plan, size_t i)
{
    const struct cw_plan *written = plan->written;
    cw_autofree uint8_t *mine = CW_NEW_ARRAY(uint8_t, written->n);
    if (!mark_below(plan, i, mine))
        return SIZE_MAX;
    for (size_t k = 0; k < written->n; k++) {
        cw_autofree uint8_t *theirs = CW_NEW_ARRAY(uint8_t, written->n);
        if (mark_below(written, k, theirs) && memcmp(mine, theirs, written->n) == 0)
            return k;
    }
    return SIZE_MAX;
}
