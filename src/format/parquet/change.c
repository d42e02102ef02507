/* SPDX-License-Identifier: Apache-2.0 */
/* Which dtype a column has, and the changes that it takes. */
#include "format/parquet/change.h"

#include <string.h>

#define JULIAN_1970 2440588 /* the day that INT96 counts from, to 1970 */
#define DAY_NS INT64_C(86400000000000)
enum { SCALE_MAX = 22, DECIMAL_BYTES_MAX = 16 };

static int int_dtype(const struct cw_pq_leaf *leaf, enum cw_dtype *ret_dtype,
                     enum cw_pq_change *ret_change, struct cw_err *err)
{
    bool s = leaf->is_signed;
    *ret_change = leaf->bits == 8 ? CW_PQ_TO_8 : leaf->bits == 16 ? CW_PQ_TO_16 : CW_PQ_SAME;
    if (leaf->bits == 8)
        *ret_dtype = s ? CW_DTYPE_I8 : CW_DTYPE_U8;
    else if (leaf->bits == 16)
        *ret_dtype = s ? CW_DTYPE_I16 : CW_DTYPE_U16;
    else if (leaf->physical == CW_PQ_INT32)
        *ret_dtype = s ? CW_DTYPE_I32 : CW_DTYPE_U32;
    else
        *ret_dtype = s ? CW_DTYPE_I64 : CW_DTYPE_U64;
    if (*ret_change != CW_PQ_SAME && leaf->physical != CW_PQ_INT32)
        return cw_err_set(err, CW_E_UNSUPPORTED, "column %s: small integers that are not INT32",
                          leaf->name);
    return 0;
}

static int decimal_dtype(const struct cw_pq_leaf *leaf, enum cw_dtype decimals,
                         enum cw_dtype *ret_dtype, enum cw_pq_change *ret_change,
                         struct cw_err *err)
{
    if (decimals == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "column %s: it has decimals, and the option decimal does not say what "
                          "they become (f64, or i64: as integers without the point)",
                          leaf->name);
    if (leaf->scale < 0 || leaf->scale > SCALE_MAX)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "column %s: decimals with %d digits behind the point", leaf->name,
                          leaf->scale);
    *ret_dtype = decimals;
    *ret_change = decimals == CW_DTYPE_F64 ? CW_PQ_DECIMAL_F64 : CW_PQ_DECIMAL_I64;
    return 0;
}

static int physical_dtype(const struct cw_pq_leaf *leaf, enum cw_dtype *ret_dtype, int64_t *ret_dim,
                          enum cw_pq_change *ret_change, struct cw_err *err)
{
    static const enum cw_dtype plain[CW_PQ_PHYSICAL_N] = {CW_DTYPE_BOOL, CW_DTYPE_I32, CW_DTYPE_I64,
                                                          CW_DTYPE_I64,  CW_DTYPE_F32, CW_DTYPE_F64,
                                                          CW_DTYPE_STR,  CW_DTYPE_U8};
    bool is_half = leaf->logical == CW_PQ_FLOAT16;
    *ret_dtype = is_half ? CW_DTYPE_F16 : plain[leaf->physical];
    *ret_change = leaf->physical == CW_PQ_INT96 ? CW_PQ_INT96_NS : CW_PQ_SAME;
    if (is_half && (leaf->physical != CW_PQ_FIXED || leaf->type_bytes != 2))
        return cw_err_set(err, CW_E_CORRUPT, "column %s: f16 that are not 2 bytes long",
                          leaf->name);
    if (leaf->physical == CW_PQ_FIXED && !is_half)
        *ret_dim = leaf->type_bytes;
    if (leaf->physical == CW_PQ_FIXED && leaf->type_bytes == 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "column %s: values of no bytes", leaf->name);
    return 0;
}

int cw_pq_leaf_dtype(const struct cw_pq_leaf *leaf, enum cw_dtype decimals,
                     enum cw_dtype *ret_dtype, int64_t *ret_dim, enum cw_pq_change *ret_change,
                     struct cw_err *err)
{
    bool is_int = leaf->physical == CW_PQ_INT32 || leaf->physical == CW_PQ_INT64;
    int rc;
    *ret_dim = -1;
    if (leaf->max_rep > 1)
        return cw_err_set(err, CW_E_UNSUPPORTED, "column %s: lists of lists are not supported",
                          leaf->name);
    if (leaf->logical == CW_PQ_DECIMAL)
        rc = decimal_dtype(leaf, decimals, ret_dtype, ret_change, err);
    else if (leaf->logical == CW_PQ_INT && is_int)
        rc = int_dtype(leaf, ret_dtype, ret_change, err);
    else
        rc = physical_dtype(leaf, ret_dtype, ret_dim, ret_change, err);
    return rc;
}

static void narrow_8(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = src[4 * i];
}

static void narrow_16(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++)
        memcpy(dst + 2 * i, src + 4 * i, 2);
}

static void int96(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t ns;
        uint32_t day;
        memcpy(&ns, src + 12 * i, 8);
        memcpy(&day, src + 12 * i + 8, 4);
        ns += ((uint64_t)day - JULIAN_1970) * (uint64_t)DAY_NS;
        memcpy(dst + 8 * i, &ns, 8);
    }
}

static double power_of_10(int n)
{
    double power = 1;
    for (int i = 0; i < n; i++)
        power *= 10; /* exact up to 10^22 */
    return power;
}

static const char *put_decimal(const struct cw_pq_want *want, uint64_t high, uint64_t low,
                               uint8_t *dst)
{
    if (want->change == CW_PQ_DECIMAL_I64) {
        if (high != (low >> 63 ? UINT64_MAX : 0))
            return "a decimal does not fit an i64";
        memcpy(dst, &low, 8);
        return NULL;
    }
    double value = high == (low >> 63 ? UINT64_MAX : 0)
                       ? (double)(int64_t)low
                       : (double)(int64_t)high * 0x1p64 + (double)low;
    value /= power_of_10(want->leaf->scale);
    memcpy(dst, &value, 8);
    return NULL;
}

/* Big endian, two's complement. */
static const char *decimal_of_bytes(const struct cw_pq_want *want, const uint8_t *p, size_t n,
                                    uint8_t *dst)
{
    uint64_t high = n > 0 && p[0] >> 7 ? UINT64_MAX : 0, low = high;
    if (n > DECIMAL_BYTES_MAX)
        return "a decimal has more than 16 bytes";
    for (size_t i = 0; i < n; i++) {
        high = high << 8 | low >> 56;
        low = low << 8 | p[i];
    }
    return put_decimal(want, high, low, dst);
}

static const char *decimal_of(const struct cw_pq_want *want, const uint8_t *p, uint8_t *dst)
{
    int64_t wide = 0;
    int32_t narrow;
    if (want->leaf->physical == CW_PQ_FIXED)
        return decimal_of_bytes(want, p, want->leaf->type_bytes, dst);
    if (want->leaf->physical == CW_PQ_INT32) {
        memcpy(&narrow, p, 4);
        wide = narrow;
    } else if (want->leaf->physical == CW_PQ_INT64) {
        memcpy(&wide, p, 8);
    } else {
        return "decimals of this type do not exist";
    }
    return put_decimal(want, wide < 0 ? UINT64_MAX : 0, (uint64_t)wide, dst);
}

const char *cw_pq_change(const struct cw_pq_want *want, const uint8_t *src, size_t n, uint8_t *dst)
{
    size_t bytes = cw_pq_value_bytes(want->leaf->physical, want->leaf->type_bytes);
    const char *fault = NULL;
    if (want->change == CW_PQ_TO_8)
        narrow_8(src, n, dst);
    else if (want->change == CW_PQ_TO_16)
        narrow_16(src, n, dst);
    else if (want->change == CW_PQ_INT96_NS)
        int96(src, n, dst);
    else if (want->change == CW_PQ_SAME && n > 0)
        memcpy(dst, src, n * bytes);
    else
        for (size_t i = 0; !fault && i < n; i++)
            fault = decimal_of(want, src + i * bytes, dst + 8 * i);
    return fault;
}

const char *cw_pq_change_strings(const struct cw_pq_want *want, const struct cw_byte_strings *s,
                                 uint8_t *dst)
{
    const char *fault = NULL;
    for (size_t i = 0; !fault && i < s->n; i++)
        fault = decimal_of_bytes(want, s->bytes + s->v[i].at, s->v[i].n, dst + 8 * i);
    return fault;
}
