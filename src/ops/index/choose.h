/* SPDX-License-Identifier: Apache-2.0 */
/* What index operators share that choose each element from one of several inputs. */
#ifndef CW_OPS_INDEX_CHOOSE_H
#define CW_OPS_INDEX_CHOOSE_H

#include "ops/op.h"

#define CW_CHOOSE_INPUTS_MAX 256

/* The infer function: inputs must have the same fields in the same order; dims that differ become
 * unknown. */
int cw_choose_infer(const void *opts, const struct cw_spec *in, size_t in_n,
                    struct cw_spec *ret_spec, struct cw_err *err);
/* Appends what the documentation of all these operators says. */
#define CW_CHOOSE_DOC                                                                              \
    "All inputs must have the same fields, in the same order and of the same dtypes; dimensions "  \
    "that differ become\n"                                                                         \
    "unknown. Random operators behind it draw by the number of the input and the id there, so an " \
    "element more in one\n"                                                                        \
    "input changes no draw of another."

#endif
