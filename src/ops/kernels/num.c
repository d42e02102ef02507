/* SPDX-License-Identifier: Apache-2.0 */
/* Reads, writes and converts single values of any dtype. */
#include "ops/kernels/num.h"

#include <math.h>
#include <string.h>

static double from_half(uint16_t half)
{
    int exponent = (half >> 10) & 31;
    double fraction = half & 1023;
    double v;
    if (exponent == 31)
        v = fraction > 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        v = fraction * 0x1p-24;
    else
        v = ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -v : v;
}

/* Converts a magnitude to half precision. rint is exact, and its mode is round to nearest even;
 * scaling by powers of two is exact. */
static uint16_t magnitude_to_half(double v)
{
    int exponent;
    /* 65520 is halfway between the largest half and the first number that is too large */
    if (v >= 65520)
        return 31 << 10;
    if (v < 0x1p-14)
        /* 1024 stands for the smallest normal number: the bits are the same */
        return (uint16_t)rint(v * 0x1p24);
    frexp(v, &exponent); /* v = 0.1xxx * 2^exponent */
    double mantissa = rint(ldexp(v, 11 - exponent));
    if (mantissa >= 2048) {
        mantissa = 1024;
        exponent++;
    }
    return (uint16_t)(((exponent + 14) << 10) + ((int)mantissa - 1024));
}

/* Converts with rounding to nearest even. */
static uint16_t to_half(double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v))
        return sign | 0x7e00;
    return sign | magnitude_to_half(fabs(v));
}

static double from_bfloat(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float v;
    memcpy(&v, &wide, sizeof(v));
    return (double)v;
}

/* Converts with one rounding, to nearest even: on the way to single precision what is cut off goes into
 * the last bit, which is far behind those that are kept. */
static uint16_t to_bfloat(double v)
{
    const float f = (float)v;
    const double there = fabs((double)f), wanted = fabs(v);
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    if (isnan(v))
        return (uint16_t)((bits >> 16 & 0x8000) | 0x7fc0);
    if (there > wanted)
        bits--;
    if (there < wanted || there > wanted)
        bits |= 1;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int64_t cut_i64(double v)
{
    if (isnan(v))
        return 0;
    if (v >= 0x1p63)
        return INT64_MAX;
    return v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

static uint64_t cut_u64(double v)
{
    if (isnan(v) || v <= 0)
        return 0;
    return v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

/* the dtypes whose C type holds the value itself */
#define SIMPLE_DTYPES(X)                                                                           \
    X(U8, uint8_t)                                                                                 \
    X(I8, int8_t)                                                                                  \
    X(U16, uint16_t)                                                                               \
    X(I16, int16_t) X(U32, uint32_t) X(I32, int32_t) X(U64, uint64_t) X(I64, int64_t)

#define LOAD(type, array, i)                                                                       \
    type v;                                                                                        \
    memcpy(&v, (const char *)(array) + (i) * sizeof(v), sizeof(v))

double cw_num_get_f64(enum cw_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
#define CASE(name, type)                                                                           \
    case CW_DTYPE_##name: {                                                                        \
        LOAD(type, array, i);                                                                      \
        return (double)v;                                                                          \
    }
        SIMPLE_DTYPES(CASE)
        CASE(F32, float)
        CASE(F64, double)
#undef CASE
    case CW_DTYPE_BOOL: {
        LOAD(uint8_t, array, i);
        return v != 0;
    }
    case CW_DTYPE_F16: {
        LOAD(uint16_t, array, i);
        return from_half(v);
    }
    case CW_DTYPE_BF16: {
        LOAD(uint16_t, array, i);
        return from_bfloat(v);
    }
    case CW_DTYPE_STR:
    case CW_DTYPE_N:
        break;
    }
    return 0;
}

int64_t cw_num_get_i64(enum cw_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
#define CASE(name, type)                                                                           \
    case CW_DTYPE_##name: {                                                                        \
        LOAD(type, array, i);                                                                      \
        return (int64_t)v;                                                                         \
    }
        SIMPLE_DTYPES(CASE)
#undef CASE
    case CW_DTYPE_BOOL: {
        LOAD(uint8_t, array, i);
        return v != 0;
    }
    case CW_DTYPE_F16:
    case CW_DTYPE_BF16:
    case CW_DTYPE_F32:
    case CW_DTYPE_F64:
        return cut_i64(cw_num_get_f64(dtype, array, i));
    case CW_DTYPE_STR:
    case CW_DTYPE_N:
        break;
    }
    return 0;
}

static void store(void *array, size_t i, const void *v, size_t bytes)
{
    memcpy((char *)array + i * bytes, v, bytes);
}

void cw_num_put_i64(enum cw_dtype dtype, void *array, size_t i, int64_t value)
{
    switch (dtype) {
#define CASE(name, type)                                                                           \
    case CW_DTYPE_##name: {                                                                        \
        type v = (type)value;                                                                      \
        store(array, i, &v, sizeof(v));                                                            \
        return;                                                                                    \
    }
        SIMPLE_DTYPES(CASE)
        CASE(F32, float)
        CASE(F64, double)
#undef CASE
    case CW_DTYPE_BOOL: {
        uint8_t v = value != 0;
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_F16: {
        uint16_t v = to_half((double)value);
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_BF16: {
        uint16_t v = to_bfloat((double)value);
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_STR:
    case CW_DTYPE_N:
        break;
    }
}

/* Cuts v towards zero, and returns the nearest integer in the range of the dtype. */
static int64_t cut_to(enum cw_dtype dtype, double v)
{
    int64_t wide = cut_i64(v);
    int64_t hi = dtype == CW_DTYPE_I64 ? INT64_MAX : 0, lo = dtype == CW_DTYPE_I64 ? INT64_MIN : 0;
    switch (dtype) {
#define CASE(name, low, high)                                                                      \
    case CW_DTYPE_##name:                                                                          \
        lo = low;                                                                                  \
        hi = high;                                                                                 \
        break
        CASE(U8, 0, UINT8_MAX);
        CASE(I8, INT8_MIN, INT8_MAX);
        CASE(U16, 0, UINT16_MAX);
        CASE(I16, INT16_MIN, INT16_MAX);
        CASE(U32, 0, UINT32_MAX);
        CASE(I32, INT32_MIN, INT32_MAX);
#undef CASE
    default:
        break;
    }
    return CW_MAX(lo, CW_MIN(wide, hi));
}

void cw_num_put_f64(enum cw_dtype dtype, void *array, size_t i, double value)
{
    switch (dtype) {
    case CW_DTYPE_F16: {
        uint16_t v = to_half(value);
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_BF16: {
        uint16_t v = to_bfloat(value);
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_F32: {
        float v = (float)value;
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_F64:
        store(array, i, &value, sizeof(value));
        return;
    case CW_DTYPE_BOOL: {
        uint8_t v = value != 0; /* NaN is true, since it is not 0 */
        store(array, i, &v, sizeof(v));
        return;
    }
    case CW_DTYPE_U64: {
        uint64_t v = cut_u64(value);
        store(array, i, &v, sizeof(v));
        return;
    }
    default:
        cw_num_put_i64(dtype, array, i, cut_to(dtype, value));
    }
}

/* Converts the pairs of dtypes that pipelines use all the time, without a switch for each value.
 * Returns false for other pairs. */
static bool convert_fast(enum cw_dtype to, void *dst, enum cw_dtype from, const void *src, size_t n)
{
    if (to == from && from != CW_DTYPE_BOOL) {
        if (n > 0)
            memcpy(dst, src, n * cw_dtype_bytes(to));
        return true;
    }
    if (from == CW_DTYPE_F32 && to == CW_DTYPE_BF16) {
        for (size_t i = 0; i < n; i++) {
            LOAD(uint32_t, src, i);
            const uint32_t nan = (v >> 16 & 0x8000) | 0x7fc0,
                           near = (v + 0x7fff + (v >> 16 & 1)) >> 16;
            const uint16_t half = (uint16_t)((v & 0x7fffffff) > 0x7f800000 ? nan : near);
            store(dst, i, &half, sizeof(half));
        }
        return true;
    }
    if (from == CW_DTYPE_U8 && to == CW_DTYPE_F32) {
        const uint8_t *s = src;
        for (size_t i = 0; i < n; i++) {
            float v = s[i];
            store(dst, i, &v, sizeof(v));
        }
        return true;
    }
    return false;
}

void cw_num_convert(enum cw_dtype to, void *dst, enum cw_dtype from, const void *src, size_t n)
{
    if (convert_fast(to, dst, from, src, n))
        return;
    if (from == CW_DTYPE_U64 && cw_dtype_is_float(to)) {
        for (size_t i = 0; i < n; i++) {
            LOAD(uint64_t, src, i);
            if (to == CW_DTYPE_F32) {
                /* the value does not pass through double, so it is rounded once */
                float f = (float)v;
                store(dst, i, &f, sizeof(f));
            } else {
                cw_num_put_f64(to, dst, i, (double)v);
            }
        }
    } else if (cw_dtype_is_float(from)) {
        for (size_t i = 0; i < n; i++)
            cw_num_put_f64(to, dst, i, cw_num_get_f64(from, src, i));
    } else {
        for (size_t i = 0; i < n; i++)
            cw_num_put_i64(to, dst, i, cw_num_get_i64(from, src, i));
    }
}

bool cw_num_is_float(enum cw_dtype dtype)
{
    return dtype == CW_DTYPE_F16 || dtype == CW_DTYPE_BF16 || dtype == CW_DTYPE_F32 ||
           dtype == CW_DTYPE_F64;
}

/* The binary digits that all numbers of a dtype have: of an integer without its sign, of a float its
 * fraction's. 0: it is none. */
static int digits(enum cw_dtype dtype, bool *ret_is_signed)
{
    static const struct {
        int digits;
        bool is_signed;
    } all[CW_DTYPE_N] = {
        [CW_DTYPE_U8] = {8, false},   [CW_DTYPE_I8] = {7, true},    [CW_DTYPE_U16] = {16, false},
        [CW_DTYPE_I16] = {15, true},  [CW_DTYPE_U32] = {32, false}, [CW_DTYPE_I32] = {31, true},
        [CW_DTYPE_U64] = {64, false}, [CW_DTYPE_I64] = {63, true},  [CW_DTYPE_F16] = {11, true},
        [CW_DTYPE_BF16] = {8, true},  [CW_DTYPE_F32] = {24, true},  [CW_DTYPE_F64] = {53, true},
    };
    *ret_is_signed = all[dtype].is_signed;
    return all[dtype].digits;
}

/* f16 has more digits than bf16, and fewer powers. Of the others more digits go with more powers, and each
 * float has the powers of the integers with as many digits. */
bool cw_num_keeps(enum cw_dtype from, enum cw_dtype to)
{
    bool from_signed, to_signed;
    const int has = digits(from, &from_signed), room = digits(to, &to_signed);

    if (has == 0 || room == 0 || (from_signed && !to_signed) ||
        (cw_num_is_float(from) && !cw_num_is_float(to)) ||
        (from == CW_DTYPE_BF16 && to == CW_DTYPE_F16))
        return false;
    return has <= room;
}
