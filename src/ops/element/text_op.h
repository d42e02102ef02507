/* SPDX-License-Identifier: Apache-2.0 */
/* What operators from text to text share: lower, unicode_normalize, regex_replace. */
#ifndef CW_OPS_ELEMENT_TEXT_OP_H
#define CW_OPS_ELEMENT_TEXT_OP_H

#include "base/str.h"
#include "ops/op.h"

/* They accept str fields, and leave what is known of a field. */
bool cw_text_op_accepts(const struct cw_field *field);
int cw_text_op_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                     struct cw_err *err);
/* Their scratch is a text, whose memory is used again. */
void *cw_text_op_scratch_new(const void *opts, void *state);
void cw_text_op_scratch_free(void *scratch);
/* Makes a text the value of a field. */
int cw_text_op_output(const struct cw_str *text, const struct cw_op_ctx *ctx, struct cw_view *out,
                      struct cw_err *err);
void cw_text_op_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                      size_t fields_n, struct cw_op_facts *ret_facts);

#endif
