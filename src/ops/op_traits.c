/* SPDX-License-Identifier: Apache-2.0 */
/* What a descriptor says of an operator. */
#include "ops/op.h"

bool cw_op_accepts(const struct cw_op *op, const struct cw_field *field)
{
    const struct cw_op_takes *takes = op->takes;
    if (!takes)
        return !op->accepts || op->accepts(field);
    return (takes->dtypes >> field->dtype & 1) && field->rank >= takes->rank_min &&
           field->rank <= takes->rank_max;
}

const char *cw_op_kind_name(enum cw_op_kind kind)
{
    static const char *const kinds[] = {"source", "index", "element", "group"};
    return kinds[kind];
}

bool cw_op_draws(const struct cw_op *op, const void *opts)
{
    return (op->traits & CW_OP_RANDOM) && (!op->draws || op->draws(opts));
}

bool cw_op_is_inside(const struct cw_op *op, const void *opts, bool sparse)
{
    return op->inside || (sparse && op->group_within && op->group_within(opts));
}

bool cw_op_has_manifest(const struct cw_op *op, const void *opts)
{
    return op->manifest && (!op->by_blocks || op->by_blocks(opts)) &&
           (!op->names_file || op->names_file(opts));
}

int64_t cw_op_group_shift(const struct cw_op *op, const void *opts)
{
    return op->group_shift ? op->group_shift(opts) : op->group_size(opts);
}
