/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of one text while they are found, and how they become an element's tensor. The array
 * belongs to a thread's scratch and keeps its memory, so nothing is allocated once sizes have
 * settled. */
#ifndef CW_OPS_TEXT_IDS_H
#define CW_OPS_TEXT_IDS_H

#include "base/mem.h"
#include "ops/op.h"

struct cw_ids {
    int32_t *v;
    size_t n, cap;
};

void cw_ids_fini(struct cw_ids *ids);
/* Makes room for n more. Returns 0 or NOMEM. */
int cw_ids_reserve(struct cw_ids *ids, size_t n, struct cw_err *err);
/* Makes the ids the value of a field: i32[n]. */
int cw_ids_output(const struct cw_ids *ids, const struct cw_op_ctx *ctx, struct cw_view *out,
                  struct cw_err *err);
/* For operators from text to tokens: what they accept, and what becomes of the field (i32[?]). */
bool cw_ids_accepts(const struct cw_field *field);
int cw_ids_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                 struct cw_err *err);
/* For operators from tokens to tokens: they accept i32[?] or i32[n]. */
bool cw_ids_are(const struct cw_field *field);
int cw_ids_check(const struct cw_field *field, struct cw_err *err);
/* Facts of operators that make something else of each of their fields. */
void cw_ids_facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts);

#endif
