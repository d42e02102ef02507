/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_OPS_ELEMENT_NESTED_INT_H
#define CW_OPS_ELEMENT_NESTED_INT_H

#include "ops/element/nested.h"
#include "ops/infer_op.h"

struct cw_nested_op {
    const struct cw_op *op;
    void *opts;
    char **names; /* of the fields that it is told to work on */
    size_t names_n;
    void *state;
};
struct cw_nested {
    char *where;
    size_t n;
    struct cw_nested_op *v;
};

/* What an operator of a chain means for elements of the spec that comes to it, which must live longer. */
struct cw_nested_link {
    const struct cw_spec *in;
    struct cw_op_inferred inferred;
    struct cw_motion_fields moved;
};
/* *ret_link is set in any case, and is to be freed. */
int cw_nested_link_infer(const struct cw_nested *nested, size_t i, const struct cw_spec *in,
                         struct cw_nested_link *ret_link, struct cw_err *err);
void cw_nested_link_fini(struct cw_nested_link *link);

#endif
