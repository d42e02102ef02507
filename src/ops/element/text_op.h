/* SPDX-License-Identifier: Apache-2.0 */
/* What operators from text to text share (lower, unicode_normalize, regex_replace), and those from texts to
 * lists of strings and back. */
#ifndef CW_OPS_ELEMENT_TEXT_OP_H
#define CW_OPS_ELEMENT_TEXT_OP_H

#include "base/str.h"
#include "data/strings.h"
#include "ops/op.h"

/* They accept str fields, and leave what is known of a field. */
bool cw_text_op_accepts(const struct cw_field *field);
int cw_text_op_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                     struct cw_err *err);
/* Their scratch is a text and a list, whose memory is used again. */
struct cw_text_op_scratch {
    struct cw_str text;
    struct cw_strings list;
};
void cw_text_op_scratch_fini(struct cw_text_op_scratch *scratch);
void *cw_text_op_scratch_new(const void *opts, void *state);
void cw_text_op_scratch_free(void *scratch);
/* Makes a text the value of a field. */
int cw_text_op_output(const struct cw_str *text, const struct cw_op_ctx *ctx, struct cw_view *out,
                      struct cw_err *err);
/* The same with a list. */
int cw_text_op_output_list(const struct cw_strings *list, const struct cw_op_ctx *ctx,
                           struct cw_view *out, struct cw_err *err);
/* Makes a text of n bytes at p; *ret_text is empty before. */
typedef int cw_text_op_fn(const void *opts, void *state, void *scratch, const void *p, size_t n,
                          struct cw_str *ret_text, struct cw_err *err);
/* Applies it to a text, or to each string of a list. `own` is given to fn as scratch. */
int cw_text_op_apply(const struct cw_op_ctx *ctx, cw_text_op_fn *fn, const void *opts, void *state,
                     void *own, struct cw_text_op_scratch *scratch, const struct cw_view *in,
                     struct cw_view *out, struct cw_err *err);
void cw_text_op_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                      size_t fields_n, struct cw_op_facts *ret_facts);

#endif
