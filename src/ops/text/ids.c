/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/ids.h"

#include <string.h>

void cw_ids_fini(struct cw_ids *ids)
{
    cw_mem_free(ids->v);
    *ids = (struct cw_ids){0};
}

int cw_ids_reserve(struct cw_ids *ids, size_t n, struct cw_err *err)
{
    if (ids->cap - ids->n >= n)
        return 0;
    const size_t cap = CW_MAX(ids->n + n, 2 * ids->cap);
    int32_t *v = cw_mem_try_grow(ids->v, cap * sizeof(int32_t));
    if (!v)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu tokens", cap);
    ids->v = v;
    ids->cap = cap;
    return 0;
}

int cw_ids_output(const struct cw_ids *ids, const struct cw_op_ctx *ctx, struct cw_view *out,
                  struct cw_err *err)
{
    out->dtype = CW_DTYPE_I32;
    out->rank = 1;
    out->dims[0] = (int64_t)ids->n;
    out->stamp = NULL;
    int rc = cw_op_output(ctx, out, err);
    if (rc == 0 && ids->n > 0)
        memcpy(out->data, ids->v, ids->n * sizeof(int32_t));
    return rc;
}

bool cw_ids_accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR;
}

int cw_ids_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                 struct cw_err *err)
{
    (void)opts;
    if (in->dtype != CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a %s; a text (str) is needed",
                          in->name, cw_dtype_name(in->dtype));
    *ret_field = *in;
    ret_field->dtype = CW_DTYPE_I32;
    ret_field->rank = 1;
    ret_field->dims[0] = -1;
    return 0;
}

bool cw_ids_are(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_I32 && field->rank == 1;
}

int cw_ids_check(const struct cw_field *field, struct cw_err *err)
{
    if (cw_ids_are(field))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a %s of rank %d; tokens are i32[?]",
                      field->name, cw_dtype_name(field->dtype), field->rank);
}

void cw_ids_facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
    ret_facts->refuses = true;
}
