/* SPDX-License-Identifier: Apache-2.0 */
/* Folds: operators that need not be called, because they have no effect on what comes in, or because the
 * next one gives the same without them. The bytes stay the same for all inputs. */
#ifndef CW_GRAPH_FOLD_H
#define CW_GRAPH_FOLD_H

#include "ops/op.h"

/* An operator with what comes to it. `fields` are those that a fieldwise operator works on. */
struct cw_fold_op {
    const struct cw_op *op;
    const void *opts;
    const struct cw_spec *in;
    const size_t *fields;
    size_t fields_n;
};

/* Whether the operator leaves each element as it is. */
bool cw_fold_has_no_effect(const struct cw_fold_op *op);
/* Whether `next`, which gets what `op` makes and nothing else does, gives the same of what comes to `op`. */
bool cw_fold_takes_over(const struct cw_fold_op *op, const struct cw_fold_op *next);

#endif
