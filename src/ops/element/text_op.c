/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/text_op.h"

#include <string.h>

#include "base/mem.h"

bool cw_text_op_accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR;
}

int cw_text_op_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                     struct cw_err *err)
{
    (void)opts;
    if (in->dtype != CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a %s; a text (str) is needed",
                          in->name, cw_dtype_name(in->dtype));
    *ret_field = *in;
    return 0;
}

void *cw_text_op_scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return CW_NEW(struct cw_str);
}

void cw_text_op_scratch_free(void *scratch)
{
    if (scratch)
        cw_str_fini(scratch);
    cw_mem_free(scratch);
}

int cw_text_op_output(const struct cw_str *text, const struct cw_op_ctx *ctx, struct cw_view *out,
                      struct cw_err *err)
{
    out->bytes = text->len;
    out->stamp = NULL;
    int rc = cw_op_output(ctx, out, err);
    if (rc == 0 && text->len > 0)
        memcpy(out->data, text->s, text->len);
    return rc;
}

void cw_text_op_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                      size_t fields_n, struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
}
