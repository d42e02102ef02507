/* SPDX-License-Identifier: Apache-2.0 */
/* Reads decimal numbers. Most floats are exact products of small numbers; nearly all others are found
 * by one multiplication of 64 by 128 bits (Lemire, "Number parsing at a gigabyte per second", 2021);
 * what is left is given to strtod. */
#include "format/decimal.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "format/decimal_int.h"

__extension__ typedef unsigned __int128 wide;

#define DIGITS_MAX 19 /* so many fit into the mantissa */
#define EXPONENT_MAX 100000

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static bool are_eight_digits(uint64_t v)
{
    return ((v & 0xf0f0f0f0f0f0f0f0u) | (((v + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4)) ==
           0x3333333333333333u;
}

static uint64_t eight_digits(uint64_t v)
{
    v -= 0x3030303030303030u;
    v = v * 10 + (v >> 8);
    return (((v & 0x000000ff000000ffu) * 0x000f424000000064u) +
            (((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
           32;
}

/* Reads digits. The mantissa wraps if there are too many, which the caller sees by their number. */
static const char *scan_digits(const char *p, const char *end, uint64_t *mantissa)
{
    uint64_t m = *mantissa;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (uint64_t v; end - p >= 8; p += 8) {
        memcpy(&v, p, sizeof(v));
        if (!are_eight_digits(v))
            break;
        m = m * 100000000 + eight_digits(v);
    }
#endif
    for (; p < end && is_digit(*p); p++)
        m = m * 10 + (uint64_t)(*p - '0');
    *mantissa = m;
    return p;
}

/* Reads the exponent at p, if there is a whole one. */
static const char *scan_exponent(const char *p, const char *end, struct cw_decimal *d)
{
    const char *q = p;
    int32_t e = 0;
    if (q == end || (*q | 0x20) != 'e')
        return p;
    q++;
    const bool is_negative = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+'))
        q++;
    if (q == end || !is_digit(*q))
        return p;
    for (; q < end && is_digit(*q); q++)
        e = e < EXPONENT_MAX ? e * 10 + (*q - '0') : e;
    d->exponent += is_negative ? -e : e;
    d->is_integer = false;
    return q;
}

/* Leading zeros are no digits that the mantissa has to hold. */
static size_t count_zeros(const char *p, const char *end)
{
    const char *q = p;
    while (q < end && (*q == '0' || *q == '.'))
        q++;
    return (size_t)(q - p);
}

const char *cw_decimal_scan(const char *p, const char *end, enum cw_decimal_grammar grammar,
                            struct cw_decimal *ret_decimal)
{
    struct cw_decimal d = {.text = p, .is_integer = true};
    const bool is_json = grammar == CW_DECIMAL_JSON;
    if (p < end && (*p == '-' || (!is_json && *p == '+')))
        d.is_negative = *p++ == '-';
    const char *whole = p;
    p = scan_digits(p, end, &d.mantissa);
    size_t digits = (size_t)(p - whole);
    if (is_json && (digits == 0 || (digits > 1 && *whole == '0')))
        return NULL;
    if (p < end && *p == '.' && (!is_json || (p + 1 < end && is_digit(p[1])))) {
        const char *fraction = ++p;
        p = scan_digits(p, end, &d.mantissa);
        d.exponent = -(int32_t)CW_MIN(p - fraction, EXPONENT_MAX);
        digits += (size_t)(p - fraction);
        d.is_integer = false;
    }
    if (digits == 0)
        return NULL;
    if (digits > DIGITS_MAX) {
        size_t zeros = count_zeros(whole, p);
        d.is_long = digits - zeros + (memchr(whole, '.', zeros) ? 1 : 0) > DIGITS_MAX;
    }
    p = scan_exponent(p, end, &d);
    d.n = (size_t)(p - d.text);
    *ret_decimal = d;
    return p;
}

static double by_strtod(const struct cw_decimal *d)
{
    char small[128];
    double v = 0;
    char *text = d->n < sizeof(small) ? small : cw_mem_new(d->n + 1);
    memcpy(text, d->text, d->n);
    text[d->n] = '\0';
    if (!cw_str_to_f64(text + (text[0] == '+'), &v))
        v = HUGE_VAL;
    if (text != small)
        cw_mem_free(text);
    return fabs(v);
}

/* Returns the low word of a product, and its high word in *ret_high. */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *ret_high)
{
    const wide product = (wide)a * b;
    *ret_high = (uint64_t)(product >> 64);
    return (uint64_t)product;
}

/* Returns the bits of the nearest double by one product; 0: it is not decided by that. */
static uint64_t by_product(uint64_t w, int32_t q)
{
    const int lz = __builtin_clzll(w);
    const uint64_t *five = cw_pow5[q - CW_POW5_MIN];
    w <<= lz;
    uint64_t high, more;
    uint64_t low = multiply(w, five[0], &high);
    if ((high & 0x1ff) == 0x1ff) {
        (void)multiply(w, five[1], &more);
        low += more;
        high += low < more;
        if (low == UINT64_MAX && (q < -27 || q > 55))
            return 0;
    }
    const unsigned upper = (unsigned)(high >> 63);
    uint64_t mantissa = high >> (upper + 9);
    int32_t power = (((152170 + 65536) * q) >> 16) + 63 + (int32_t)upper - lz + 1023;
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high)
        mantissa &= ~UINT64_C(1);
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa = UINT64_C(1) << 52;
        power++;
    }
    return (uint64_t)(uint32_t)power << 52 | (mantissa & ((UINT64_C(1) << 52) - 1));
}

static double to_f64(const struct cw_decimal *d)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->is_long)
        return by_strtod(d);
    if (d->mantissa == 0)
        return 0;
    if (d->mantissa >> 53 == 0 && d->exponent >= -22 && d->exponent <= 22) {
        const double m = (double)d->mantissa;
        return d->exponent < 0 ? m / tens[-d->exponent] : m * tens[d->exponent];
    }
    if (d->exponent < CW_POW5_MIN || d->exponent > CW_POW5_MAX)
        return by_strtod(d);
    const uint64_t bits = by_product(d->mantissa, d->exponent);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return bits ? v : by_strtod(d);
}

/* A double that lies in the middle between two floats may have been rounded to there, so that the
 * digits decide: whether the number is above or below it. */
static bool to_f32(const struct cw_decimal *d, double v, float *ret)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    if ((bits & 0x1fffffff) == 0x10000000) {
        char *text = cw_mem_strndup(d->text, d->n);
        *ret = cw_str_to_f32(text + (text[0] == '+'), ret) ? fabsf(*ret) : HUGE_VALF;
        cw_mem_free(text);
    } else {
        *ret = (float)v;
    }
    return !isinf(*ret);
}

static bool put_float(const struct cw_decimal *d, enum cw_dtype dtype, void *dst)
{
    double v = to_f64(d);
    float f = 0;
    if (isinf(v) || (dtype == CW_DTYPE_F32 && !to_f32(d, v, &f)))
        return false;
    v = d->is_negative ? -v : v;
    f = d->is_negative ? -f : f;
    if (dtype == CW_DTYPE_F32)
        memcpy(dst, &f, sizeof(f));
    else
        memcpy(dst, &v, sizeof(v));
    return true;
}

bool cw_decimal_put(const struct cw_decimal *d, enum cw_dtype dtype, void *dst)
{
    if (cw_dtype_is_float(dtype))
        return put_float(d, dtype, dst);
    if (!d->is_integer || d->is_long)
        return false;
    const size_t bytes = cw_dtype_bytes(dtype);
    const bool is_signed = dtype == CW_DTYPE_I8 || dtype == CW_DTYPE_I16 || dtype == CW_DTYPE_I32 ||
                           dtype == CW_DTYPE_I64;
    const uint64_t most = UINT64_MAX >> (64 - 8 * bytes);
    const uint64_t limit = !is_signed       ? (d->is_negative ? 0 : most)
                           : d->is_negative ? most / 2 + 1
                                            : most / 2;
    if (d->mantissa > limit)
        return false;
    const uint64_t v = d->is_negative ? 0 - d->mantissa : d->mantissa;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(dst, &v, bytes);
#else
    memcpy(dst, (const char *)&v + 8 - bytes, bytes);
#endif
    return true;
}
