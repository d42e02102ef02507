/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/fold.h"

/* Whether nothing shows of a call but its fields: no element is refused, or left out, and nothing moves with
 * the fields. */
static bool shows_in_fields_only(const struct cw_fold_op *op)
{
    struct cw_op_facts facts = {0};
    struct cw_motion_fields moved = {0};

    if (op->op->kind != CW_OP_ELEMENT || !op->op->infer_field || !op->op->facts ||
        op->op->out_name || op->fields_n == 0)
        return false;
    cw_op_facts_get(op->op, op->opts, op->in, op->fields, op->fields_n, &facts);
    return facts.known && !facts.refuses && !facts.drops &&
           cw_motion_find(op->op, op->opts, op->in, &moved, NULL) == 0 &&
           cw_field_set_is_empty(&moved.all);
}

bool cw_fold_has_no_effect(const struct cw_fold_op *op)
{
    if (!op->op->has_no_effect || !shows_in_fields_only(op))
        return false;
    for (size_t i = 0; i < op->fields_n; i++)
        if (!op->op->has_no_effect(op->opts, &op->in->fields[op->fields[i]]))
            return false;
    return true;
}

static bool has_same_fields(const struct cw_fold_op *op, const struct cw_fold_op *next)
{
    if (op->fields_n != next->fields_n)
        return false;
    for (size_t i = 0; i < op->fields_n; i++)
        if (op->fields[i] != next->fields[i])
            return false;
    return true;
}

bool cw_fold_takes_over(const struct cw_fold_op *op, const struct cw_fold_op *next)
{
    struct cw_motion_fields moved = {0};

    if (!next->op->takes_over || !shows_in_fields_only(op) || !has_same_fields(op, next) ||
        cw_motion_find(next->op, next->opts, next->in, &moved, NULL) < 0 ||
        !cw_field_set_is_empty(&moved.all))
        return false;
    for (size_t i = 0; i < op->fields_n; i++)
        if (!next->op->takes_over(next->opts, &next->in->fields[op->fields[i]], op->op, op->opts,
                                  &op->in->fields[op->fields[i]]))
            return false;
    return true;
}
