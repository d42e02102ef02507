/* SPDX-License-Identifier: Apache-2.0 */
/* Finds for each operator that can make a part of an image which operators say what part of it is
 * needed: a crop behind it, and what stands between the two. */
#include "base/mem.h"
#include "plan/plan_int.h"

/* Returns the only reader of a node, or SIZE_MAX if it has several or none. */
static size_t only_reader(const struct cw_plan *plan, size_t i)
{
    size_t reader = SIZE_MAX;
    for (size_t j = i + 1; j < plan->n; j++) {
        for (size_t k = 0; k < plan->nodes[j].inputs_n; k++) {
            if (plan->nodes[j].inputs[k] != i)
                continue;
            if (reader != SIZE_MAX)
                return SIZE_MAX;
            reader = j;
        }
    }
    return reader;
}

/* Index operators between them do not matter, since an element keeps the id of its source, unless it is but a part
 * of it. */
size_t cw_plan_next_operator(const struct cw_plan *plan, size_t i)
{
    size_t reader = only_reader(plan, i);
    while (
        reader != SIZE_MAX &&
        (plan->nodes[reader].step == CW_STEP_INDEX || plan->nodes[reader].step == CW_STEP_PASS) &&
        plan->nodes[reader].inputs_n == 1 && !plan->nodes[reader].parts)
        reader = only_reader(plan, reader);
    return reader != SIZE_MAX && plan->nodes[reader].step == CW_STEP_ELEMENT ? reader : SIZE_MAX;
}

/* Whether a part of the node's result in this field needs but a part of what it gets, and whether
 * that is another part. An operator that may refuse an element for a value has to see all of them,
 * or an element would be bad only where the whole image is made. */
static bool passes(const struct cw_plan_node *node, size_t field, bool *ret_moves)
{
    struct cw_op_facts facts = {0};
    *ret_moves = false;
    if (!node->op->facts)
        return false;
    cw_op_facts_get(node->op, node->opts, node->in, node->fields, node->fields_n, &facts);
    if (!facts.known)
        return false;
    if (!cw_field_set_has(&facts.reads, field) && !cw_field_set_has(&facts.writes, field))
        return true;
    *ret_moves = node->op->region != NULL;
    if (*ret_moves)
        return cw_field_set_has(&node->fields_set, field) &&
               (!node->op->makes_parts || node->fields_n == 1);
    return facts.effect == CW_EFFECT_EACH && cw_field_set_has(&facts.effect_on, field) &&
           !facts.refuses_values && (!facts.by_last_dim || node->out.fields[field].rank > 2);
}

/* A crop of several fields, an image and its mask, takes the same part of each that is of one size. */
static bool is_crop(const struct cw_plan_node *node, size_t field)
{
    return node->op->want && cw_field_set_has(&node->fields_set, field);
}

void cw_plan_find_want(struct cw_plan *plan, size_t i)
{
    struct cw_plan_node *node = &plan->nodes[i];
    if (node->step != CW_STEP_ELEMENT || !node->op->makes_parts || node->fields_n != 1)
        return;
    const size_t field = node->fields[0];
    struct cw_plan_want *want = CW_NEW_ARRAY(struct cw_plan_want, plan->n - i);
    size_t n = 0, moves = 0;
    for (size_t at = cw_plan_next_operator(plan, i); at != SIZE_MAX;
         at = cw_plan_next_operator(plan, at)) {
        want[n].node = (uint16_t)at;
        if (is_crop(&plan->nodes[at], field)) {
            node->want = want;
            node->want_n = n + 1;
            return;
        }
        if (!passes(&plan->nodes[at], field, &want[n].moves))
            break;
        moves += want[n++].moves;
        if (moves > CW_PLAN_MOVES_MAX)
            break;
    }
    cw_mem_free(want);
}
