/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several operators put into their descriptors. */
#include "ops/op_util.h"

#include "base/mem.h"

#include <string.h>

int cw_op_infer_same(const void *opts, const struct cw_spec *in, size_t in_n,
                     struct cw_spec *ret_spec, struct cw_err *err)
{
    (void)opts;
    (void)in_n;
    (void)err;
    *ret_spec = cw_spec_copy(&in[0]);
    return 0;
}

int64_t cw_op_map_same(const void *opts, void *state, struct cw_at *at, int64_t pos,
                       size_t *ret_input)
{
    (void)opts;
    (void)state;
    (void)at;
    (void)ret_input;
    return pos;
}

int cw_op_apply_same(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                     struct cw_element *element, struct cw_err *err)
{
    (void)ctx;
    (void)opts;
    (void)state;
    (void)scratch;
    (void)element;
    (void)err;
    return 0;
}

int cw_op_infer_one(const char *field, enum cw_dtype dtype, int rank, const int64_t *dims,
                    struct cw_spec *ret_spec, struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    int rc = cw_spec_add(&spec, field, dtype, rank, dims, err);
    if (rc < 0)
        return rc;
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

static int parse_dims(const char *p, struct cw_field *field)
{
    field->rank = 0;
    for (bool more = true; more; p++) {
        char number[24];
        size_t n = strcspn(p, ",]");
        int64_t dim;
        if (n == 0 && field->rank == 0 && strcmp(p, "]") == 0)
            return 0;
        if (n >= sizeof(number) || field->rank == CW_RANK_MAX)
            return CW_E_INVALID;
        memcpy(number, p, n);
        number[n] = '\0';
        if (!cw_str_to_i64(strcmp(number, "?") == 0 ? "-1" : number, &dim) || dim < -1 ||
            dim > INT64_C(1) << 40)
            return CW_E_INVALID;
        field->dims[field->rank++] = dim;
        p += n;
        more = *p == ',';
    }
    return strcmp(p - 1, "]") == 0 ? 0 : CW_E_INVALID;
}

int cw_op_parse_type(const char *text, struct cw_field *field)
{
    size_t n = strcspn(text, "[");
    cw_autofree char *word = cw_mem_strndup(text, n);
    field->rank = 0;
    if (cw_dtype_parse(word, &field->dtype) < 0 || (text[n] && parse_dims(text + n + 1, field) < 0))
        return CW_E_INVALID;
    return field->dtype == CW_DTYPE_STR && field->rank > 1 ? CW_E_INVALID : 0;
}

void cw_op_type_text(const struct cw_field *field, struct cw_str *out)
{
    cw_str_add(out, cw_dtype_name(field->dtype));
    for (int i = 0; i < field->rank; i++)
        cw_str_addf(out, "%s%lld", i ? "," : "[", (long long)field->dims[i]);
    cw_str_add(out, field->rank > 0 ? "]" : "");
}

int cw_op_spec_from_list(const struct cw_str_list *list, struct cw_spec *ret_spec,
                         struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < list->n; i++)
        rc = cw_spec_add_text(&spec, list->v[i], err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

void cw_op_spec_to_list(const struct cw_spec *spec, struct cw_value *ret_list)
{
    struct cw_value *items = cw_value_set_list(ret_list, spec->n);
    for (size_t i = 0; i < spec->n; i++) {
        CW_STR_AUTO text = {0};
        cw_field_print(&spec->fields[i], &text);
        cw_value_set_str(&items[i], cw_str_text(&text));
    }
}
