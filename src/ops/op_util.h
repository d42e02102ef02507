/* SPDX-License-Identifier: Apache-2.0 */
/* Small functions that several operators share. */
#ifndef CW_OPS_OP_UTIL_H
#define CW_OPS_OP_UTIL_H

#include "ops/op.h"

/* The infer function of operators whose output has the same spec as their input. */
int cw_op_infer_same(const void *opts, const struct cw_spec *in, size_t in_n,
                     struct cw_spec *ret_spec, struct cw_err *err);
/* The map function of operators that change only the count. */
int64_t cw_op_map_same(const void *opts, void *state, struct cw_at *at, int64_t pos,
                       size_t *ret_input);
/* The apply function of operators that do not change elements. */
int cw_op_apply_same(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                     struct cw_element *element, struct cw_err *err);
/* Makes the spec of a source with one field. */
int cw_op_infer_one(const char *field, enum cw_dtype dtype, int rank, const int64_t *dims,
                    struct cw_spec *ret_spec, struct cw_err *err);
/* Reads a type as options give it ("str", "i64", "f32[-1,3]") into dtype, rank and dims. Returns 0 or
 * INVALID. */
int cw_op_parse_type(const char *text, struct cw_field *field);
/* Appends such a text. */
void cw_op_type_text(const struct cw_field *field, struct cw_str *out);
/* Make a spec of a list of fields as texts (cw_spec_add_text), and such a list of a spec. */
int cw_op_spec_from_list(const struct cw_str_list *list, struct cw_spec *ret_spec,
                         struct cw_err *err);
void cw_op_spec_to_list(const struct cw_spec *spec, struct cw_value *ret_list);

#endif
