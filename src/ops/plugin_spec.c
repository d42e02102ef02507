/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of operators of plugins before there are data. */
#include <string.h>

#include "ops/op_util.h"
#include "ops/plugin_int.h"

int cw_plugin_check(const void *opts, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    if (!op->check)
        return 0;
    struct cw_err own = {0};
    struct cw_err *to = err ? err : &own;
    cw_plugin_enter(op);
    int rc = op->check(cw_foreign_own(opts), cw_plugin_error(to));
    return CW_MIN(cw_plugin_leave(op, rc, to), 0);
}

static int same_inputs(const struct cw_spec *in, size_t in_n, struct cw_err *err)
{
    for (size_t k = 1; k < in_n; k++)
        if (!cw_spec_eq(&in[0], &in[k]))
            return cw_err_set(err, CW_E_INVALID, "inputs: 1 and %zu have different fields", k + 1);
    return 0;
}

int cw_plugin_infer(const void *opts, const struct cw_spec *in, size_t in_n,
                    struct cw_spec *ret_spec, struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    int rc = same_inputs(in, in_n, err);
    if (rc < 0)
        return rc;
    if (!op->infer)
        return cw_op_infer_same(opts, in, in_n, ret_spec, err);
    struct cw_err own = {0};
    struct cw_err *to = err ? err : &own;
    cw_plugin_enter(op);
    rc = op->infer(cw_foreign_own(opts), in_n ? cw_plugin_spec(in) : NULL, cw_plugin_spec(ret_spec),
                   cw_plugin_error(to));
    return CW_MIN(cw_plugin_leave(op, rc, to), 0);
}

int cw_plugin_infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                          struct cw_err *err)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    struct cachew_op_field from, to;
    *ret_field = *in;
    if (!op->infer_field)
        return 0;
    struct cw_err own = {0};
    struct cw_err *error = err ? err : &own;
    cw_plugin_to_field(in, &from);
    cw_plugin_to_field(in, &to);
    cw_plugin_enter(op);
    int rc = op->infer_field(cw_foreign_own(opts), &from, &to, cw_plugin_error(error));
    rc = cw_plugin_leave(op, rc, error);
    return rc < 0 ? rc : cw_plugin_from_field(&to, ret_field, error);
}

void cw_plugin_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                     size_t fields_n, struct cw_op_facts *ret_facts)
{
    const struct cachew_op *op = cw_plugin_of(opts);
    (void)in;
    cw_facts_of_fields(CW_EFFECT_EACH, fields, fields_n, ret_facts);
    ret_facts->refuses = ret_facts->refuses_values = !(op->facts & CACHEW_OP_NEVER_REFUSES);
    ret_facts->keeps_zero = (op->facts & CACHEW_OP_KEEPS_ZERO) != 0;
    ret_facts->by_batch =
        (op->facts & CACHEW_OP_BY_BATCH) && !(op->traits & CACHEW_OP_RANDOM) && !ret_facts->refuses;
}
