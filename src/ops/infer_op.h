/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields an operator works on, and what it makes of them. */
#ifndef CW_OPS_INFER_OP_H
#define CW_OPS_INFER_OP_H

#include "ops/op.h"

/* An operator as it is written: with its options, and the names of the fields that it is told to work on. */
struct cw_op_written {
    const struct cw_op *op;
    const void *opts;
    char *const *names;
    size_t names_n; /* 0: a fieldwise operator takes those that it accepts */
};
/* What that means for elements of a spec; zeroed before. */
struct cw_op_inferred {
    struct cw_spec out;
    size_t *fields; /* of the spec that comes in, those that a fieldwise operator works on */
    size_t fields_n;
};
void cw_op_inferred_fini(struct cw_op_inferred *inferred);
/* Infers an operator from the specs of its inputs. *ret_inferred is set in any case, and is to be freed. */
int cw_op_infer(const struct cw_op_written *written, const struct cw_spec *in, size_t in_n,
                struct cw_op_inferred *ret_inferred, struct cw_err *err);

#endif
