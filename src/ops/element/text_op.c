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
    return CW_NEW(struct cw_text_op_scratch);
}

void cw_text_op_scratch_fini(struct cw_text_op_scratch *scratch)
{
    cw_str_fini(&scratch->text);
    cw_strings_fini(&scratch->list);
}

void cw_text_op_scratch_free(void *scratch)
{
    if (scratch)
        cw_text_op_scratch_fini(scratch);
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

int cw_text_op_output_list(const struct cw_strings *list, const struct cw_op_ctx *ctx,
                           struct cw_view *out, struct cw_err *err)
{
    out->rank = 1;
    out->dims[0] = (int64_t)list->n;
    out->bytes = cw_strings_bytes(list);
    out->stamp = NULL;
    int rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        cw_strings_put(list, out->data);
    return rc;
}

static int apply_to_list(const struct cw_op_ctx *ctx, cw_text_op_fn *fn, const void *opts,
                         void *state, void *own, struct cw_text_op_scratch *scratch,
                         const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const int64_t count = cw_strings_count(in);
    const struct cw_view shape = *in;
    int rc = 0;
    cw_strings_clear(&scratch->list);
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        size_t n;
        const char *p = cw_strings_get(in->data, count, i, &n);
        cw_str_clear(&scratch->text);
        rc = fn(opts, state, own, p, n, &scratch->text, err);
        cw_str_add_bytes(&scratch->list.text, scratch->text.s, scratch->text.len);
        if (rc == 0)
            rc = cw_strings_end(&scratch->list, err);
        if (rc < 0)
            return cw_err_wrap(err, "string %lld", (long long)i);
    }
    rc = cw_text_op_output_list(&scratch->list, ctx, out, err);
    out->rank = shape.rank;
    memcpy(out->dims, shape.dims, sizeof(out->dims));
    return rc;
}

int cw_text_op_apply(const struct cw_op_ctx *ctx, cw_text_op_fn *fn, const void *opts, void *state,
                     void *own, struct cw_text_op_scratch *scratch, const struct cw_view *in,
                     struct cw_view *out, struct cw_err *err)
{
    if (in->rank > 0)
        return apply_to_list(ctx, fn, opts, state, own, scratch, in, out, err);
    cw_str_clear(&scratch->text);
    int rc = fn(opts, state, own, in->data, in->bytes, &scratch->text, err);
    return rc == 0 ? cw_text_op_output(&scratch->text, ctx, out, err) : rc;
}

void cw_text_op_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                      size_t fields_n, struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
}
