/* SPDX-License-Identifier: Apache-2.0 */
/* Makes values of the members of a WebDataset. */
#include "ops/source/webdataset_columns.h"

#include "format/npy.h"
#include "ops/op_util.h"

#include <string.h>

enum { NUMBER_BYTES_MAX = 64 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void set_float(struct cw_view *view, double v)
{
    float narrow = (float)v;
    if (view->dtype == CW_DTYPE_F32)
        memcpy(view->data, &narrow, sizeof(narrow));
    else
        memcpy(view->data, &v, sizeof(v));
}

static int make_number(const char *p, size_t n, const char *where, struct cw_view *view,
                       struct cw_err *err)
{
    char text[NUMBER_BYTES_MAX + 1];
    int64_t v = 0;
    double d = 0;
    while (n > 0 && is_blank(p[n - 1]))
        n--;
    while (n > 0 && is_blank(p[0])) {
        p++;
        n--;
    }
    if (n > 0)
        memcpy(text, p, CW_MIN(n, (size_t)NUMBER_BYTES_MAX));
    text[CW_MIN(n, (size_t)NUMBER_BYTES_MAX)] = '\0';
    bool is_int = view->dtype == CW_DTYPE_I64;
    bool fits = n <= NUMBER_BYTES_MAX && strlen(text) == n;
    if (!fits || !(is_int ? cw_str_to_i64(text, &v) : cw_str_to_f64(text, &d)))
        return cw_err_set(err, CW_E_CORRUPT, "%s: its text is no %s", where,
                          is_int ? "whole number (i64)" : "number");
    if (is_int)
        memcpy(view->data, &v, sizeof(v));
    else
        set_float(view, d);
    return 0;
}

static int check_array(const struct cw_npy_header *h, const struct cw_field *field, size_t n,
                       const char *where, struct cw_err *err)
{
    bool fits = h->dtype == field->dtype && h->rank == field->rank;
    for (int i = 0; fits && i < h->rank; i++)
        fits = field->dims[i] < 0 || field->dims[i] == h->dims[i];
    if (!fits) {
        struct cw_field is = {.dtype = h->dtype, .rank = CW_MIN(h->rank, CW_RANK_MAX)};
        CW_STR_AUTO text = {0};
        memcpy(is.dims, h->dims, sizeof(is.dims));
        cw_op_type_text(&is, &text);
        cw_str_add(&text, ", not ");
        cw_op_type_text(field, &text);
        return cw_err_set(err, CW_E_CORRUPT, "%s: its array is %s", where, cw_str_text(&text));
    }
    if (n - h->header_bytes != h->data_bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: its array needs %llu bytes, it has %zu", where,
                          (unsigned long long)h->data_bytes, n - h->header_bytes);
    return 0;
}

static int make_array(const struct cw_op_ctx *ctx, const struct cw_field *field, void *p, size_t n,
                      const char *where, struct cw_view *view, struct cw_err *err)
{
    struct cw_npy_header h;
    int64_t strides[CW_NPY_DIMS_MAX];
    int rc = cw_npy_parse(p, n, where, &h, err);
    if (rc == 0)
        rc = check_array(&h, field, n, where, err);
    if (rc < 0)
        return rc;
    memcpy(view->dims, h.dims, sizeof(view->dims));
    uint8_t *data = (uint8_t *)p + h.header_bytes;
    view->bytes = (size_t)h.data_bytes;
    bool is_aligned = (uintptr_t)data % cw_dtype_bytes(h.dtype) == 0;
    if (is_aligned && !h.swapped && (!h.fortran || h.rank < 2)) {
        view->data = data;
        return 0;
    }
    view->data = cw_op_scratch(ctx, view->bytes, err);
    if (!view->data)
        return CW_E_NOMEM;
    cw_npy_strides(&h, strides);
    cw_npy_copy(view->data, data, &h, h.rank, h.dims, strides);
    return 0;
}

int cw_wds_value(const struct cw_op_ctx *ctx, const struct cw_wds_column *column, void *p, size_t n,
                 const char *where, struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_view view = {.dtype = column->field.dtype, .rank = column->field.rank};
    int rc = 0;
    switch (column->kind) {
    case CW_WDS_BYTES:
        view.data = p;
        view.bytes = n;
        break;
    case CW_WDS_NUMBER:
        view.bytes = cw_dtype_bytes(view.dtype);
        view.data = cw_op_scratch(ctx, view.bytes, err);
        rc = view.data ? make_number(p, n, where, &view, err) : CW_E_NOMEM;
        break;
    case CW_WDS_NPY:
        rc = make_array(ctx, &column->field, p, n, where, &view, err);
        break;
    }
    *ret_view = view;
    return rc;
}

int cw_wds_empty(const struct cw_op_ctx *ctx, const struct cw_wds_column *column,
                 struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_view view = {.dtype = column->field.dtype, .rank = column->field.rank};
    view.bytes = cw_dtype_bytes(view.dtype);
    for (int i = 0; i < view.rank; i++) {
        view.dims[i] = CW_MAX(column->field.dims[i], 0);
        if (__builtin_mul_overflow(view.bytes, (size_t)view.dims[i], &view.bytes))
            return cw_err_set(err, CW_E_LIMIT, "field \"%s\" is too large", column->field.name);
    }
    view.data = cw_op_scratch(ctx, view.bytes, err);
    if (!view.data)
        return CW_E_NOMEM;
    memset(view.data, 0, view.bytes);
    *ret_view = view;
    return 0;
}

int cw_wds_key(const struct cw_op_ctx *ctx, const char *path, const struct cw_wds_part *part,
               struct cw_view *ret_view, struct cw_err *err)
{
    char *name = NULL;
    size_t name_n = 0;
    struct cw_view view = {.dtype = CW_DTYPE_STR};
    int rc = cw_tar_name(path, part->data, (size_t)part->bytes, ctx->arena, &name, &name_n, err);
    if (rc == 0 && !cw_wds_split(name, name_n, &view.bytes))
        rc = cw_err_set(err, CW_E_OTHER_FILE, "%s: changed while it is read", path);
    view.data = name;
    *ret_view = view;
    return rc;
}
