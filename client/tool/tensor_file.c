/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/tensor_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "format/png_write.h"

static bool is_side(int64_t n)
{
    return n >= 1 && n <= CW_PNG_SIDE_MAX;
}

bool tool_is_image(const struct cw_view *view)
{
    bool dtype = view->dtype == CW_DTYPE_U8 || view->dtype == CW_DTYPE_F32;
    bool channels =
        view->rank == 2 || (view->rank == 3 && (view->dims[2] == 1 || view->dims[2] == 3));
    return dtype && channels && is_side(view->dims[0]) && is_side(view->dims[1]);
}

/* The view of a source may have any alignment. */
static float float_at(const struct cw_view *view, size_t i)
{
    float v;
    memcpy(&v, (const char *)view->data + i * sizeof v, sizeof v);
    return v;
}

static void find_range(const struct cw_view *view, size_t n, double *ret_min, double *ret_max)
{
    double min = HUGE_VAL, max = -HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        double v = (double)float_at(view, i);
        if (isfinite(v)) {
            min = CW_MIN(min, v);
            max = CW_MAX(max, v);
        }
    }
    *ret_min = min <= max ? min : 0;
    *ret_max = min <= max ? max : 0;
}

static void scale(const struct cw_view *view, size_t n, double min, double max, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        double v = (double)float_at(view, i), share = max > min ? (v - min) / (max - min) : 0;
        if (isnan(v))
            share = 0;
        dst[i] = (uint8_t)(255 * CW_MIN(CW_MAX(share, 0), 1) + 0.5);
    }
}

int tool_write_png(const char *path, const struct cw_view *view, double *ret_min, double *ret_max,
                   struct cw_err *err)
{
    int channels = view->rank == 3 ? (int)view->dims[2] : 1;
    size_t n = (size_t)(view->dims[0] * view->dims[1] * channels);
    if (view->dtype == CW_DTYPE_U8)
        return cw_png_write(path, view->data, view->dims[0], view->dims[1], channels, err);
    cw_autofree uint8_t *pixels = cw_mem_try(n);
    if (!pixels)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory for %zu pixels", path, n);
    find_range(view, n, ret_min, ret_max);
    scale(view, n, *ret_min, *ret_max, pixels);
    return cw_png_write(path, pixels, view->dims[0], view->dims[1], channels, err);
}

static int write_two(const char *path, const void *a, size_t a_n, const void *b, size_t b_n,
                     struct cw_err *err)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return cw_err_errno(err, errno, "%s", path);
    bool ok = fwrite(a, 1, a_n, file) == a_n && (b_n == 0 || fwrite(b, 1, b_n, file) == b_n);
    int why = errno;
    if (fclose(file) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok ? 0 : cw_err_errno(err, why, "%s", path);
}

int tool_write_bytes(const char *path, const void *data, size_t n, struct cw_err *err)
{
    return write_two(path, data, n, NULL, 0, err);
}

static const char *npy_type(enum cw_dtype dtype)
{
    static const char *const types[CW_DTYPE_N] = {
        [CW_DTYPE_U8] = "|u1",   [CW_DTYPE_I8] = "|i1",  [CW_DTYPE_U16] = "<u2",
        [CW_DTYPE_I16] = "<i2",  [CW_DTYPE_U32] = "<u4", [CW_DTYPE_I32] = "<i4",
        [CW_DTYPE_U64] = "<u8",  [CW_DTYPE_I64] = "<i8", [CW_DTYPE_F16] = "<f2",
        [CW_DTYPE_F32] = "<f4",  [CW_DTYPE_F64] = "<f8", [CW_DTYPE_BOOL] = "|b1",
        [CW_DTYPE_BF16] = "|V2", /* as the package ml_dtypes writes it */
    };
    return types[dtype];
}

void tool_npy_head(const struct cw_view *view, struct cw_str *out)
{
    static const char magic[8] = "\x93NUMPY\x01";
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_type(view->dtype));
    for (int d = 0; d < view->rank; d++)
        cw_str_addf(&text, "%s%lld%s", d ? ", " : "", (long long)view->dims[d],
                    view->rank == 1 ? "," : "");
    cw_str_add(&text, "), }");
    /* The magic, the version and the length are 10 bytes; the data begin at a multiple of 64. */
    while ((10 + text.len + 1) % 64)
        cw_str_add_char(&text, ' ');
    cw_str_add_char(&text, '\n');
    cw_str_add_bytes(out, magic, sizeof magic);
    cw_str_add_char(out, (char)(text.len & 255));
    cw_str_add_char(out, (char)(text.len >> 8));
    cw_str_add_bytes(out, text.s, text.len);
}

int tool_write_npy(const char *path, const struct cw_view *view, struct cw_err *err)
{
    CW_STR_AUTO head = {0};
    if (view->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: strings cannot be an .npy file", path);
    tool_npy_head(view, &head);
    return write_two(path, head.s, head.len, view->data, view->bytes, err);
}
