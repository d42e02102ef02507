/* SPDX-License-Identifier: Apache-2.0 */
/* Infers the spec of a node, and chooses the fields on which a fieldwise operator works. */
#include "graph/infer.h"

#include "base/mem.h"
#include "ops/infer_op.h"

void cw_inferred_fini(struct cw_checked_node *checked)
{
    cw_spec_fini(&checked->out);
    cw_mem_free(checked->fields);
    checked->fields = NULL;
    checked->fields_n = 0;
}

int cw_infer_node(const struct cw_node *node, const struct cw_spec *in, size_t in_n,
                  struct cw_checked_node *checked, struct cw_err *err)
{
    const struct cw_op_written written = {
        .op = checked->op, .opts = checked->opts, .names = node->fields, .names_n = node->fields_n};
    struct cw_op_inferred inferred;
    const int rc = cw_op_infer(&written, in, in_n, &inferred, err);
    checked->out = inferred.out;
    checked->fields = inferred.fields;
    checked->fields_n = inferred.fields_n;
    return rc;
}
