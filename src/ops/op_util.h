/* SPDX-License-Identifier: Apache-2.0 */
/* Small things that several operators share. */
#ifndef CW_OPS_OP_UTIL_H
#define CW_OPS_OP_UTIL_H

#include "ops/op.h"

/* infer of operators whose elements look as those that come in. */
int cw_op_infer_same(const void *opts, const struct cw_spec *in, size_t in_n,
                     struct cw_spec *ret_spec, struct cw_err *err);
/* map of operators that change only the count. */
int64_t cw_op_map_same(const void *opts, void *state, struct cw_at *at, int64_t pos,
                       size_t *ret_input);
/* apply of operators that leave elements as they are. */
int cw_op_apply_same(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                     struct cw_element *element, struct cw_err *err);
/* The spec of a source with one field. */
int cw_op_infer_one(const char *field, enum cw_dtype dtype, int rank, const int64_t *dims,
                    struct cw_spec *ret_spec, struct cw_err *err);

#endif
