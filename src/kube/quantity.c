/* SPDX-License-Identifier: Apache-2.0 */
/* A quantity is mantissa * 10^ten * 2^two, which is brought to an integer without floating point. */
#include "kube/quantity.h"

#include <ctype.h>
#include <string.h>

#define DIGITS_MAX 19 /* of the mantissa */
#define TEN_MAX 1000  /* larger exponents are treated like this one */

__extension__ typedef unsigned __int128 u128;

struct number {
    bool negative, inexact; /* inexact: digits were left out that are not zero */
    uint64_t mantissa;
    int digits, ten, two;
};

static const char *read_digits(const char *at, struct number *number, bool fraction)
{
    for (; isdigit((unsigned char)*at); at++) {
        if (number->digits == DIGITS_MAX) {
            number->inexact = number->inexact || *at != '0';
            number->ten += fraction ? 0 : 1;
            continue;
        }
        number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
        number->digits += number->mantissa != 0;
        number->ten -= fraction ? 1 : 0;
    }
    return at;
}

/* Reads sign, digits and point. Returns where it ends, or NULL if there is no digit. */
static const char *read_mantissa(const char *at, struct number *number)
{
    number->negative = *at == '-';
    at += *at == '-' || *at == '+';
    const char *first = at;
    at = read_digits(at, number, false);
    size_t digits = (size_t)(at - first);
    if (*at == '.') {
        const char *point = at;
        at = read_digits(at + 1, number, true);
        digits += (size_t)(at - point - 1);
    }
    return digits > 0 ? at : NULL;
}

/* Reads "e3" or "E-3" up to the end of the text. */
static bool read_exponent(const char *at, struct number *number)
{
    int ten = 0;
    bool negative = at[1] == '-';

    at += 1 + (at[1] == '-' || at[1] == '+');
    if (!*at)
        return false;
    for (; isdigit((unsigned char)*at); at++)
        ten = ten * 10 + (*at - '0') > TEN_MAX ? TEN_MAX : ten * 10 + (*at - '0');
    number->ten += negative ? -ten : ten;
    return *at == '\0';
}

static bool read_suffix(const char *at, struct number *number)
{
    static const struct {
        const char *suffix;
        int ten, two;
    } suffixes[] = {
        {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
        {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
        {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
    };

    for (size_t i = 0; i < CW_ARRAY_LEN(suffixes); i++) {
        if (strcmp(at, suffixes[i].suffix) == 0) {
            number->ten += suffixes[i].ten;
            number->two = suffixes[i].two;
            return true;
        }
    }
    return (*at == 'e' || *at == 'E') && read_exponent(at, number);
}

/* Multiplies out, and rounds up. Returns false if the result is above INT64_MAX. */
static bool to_integer(const struct number *number, int scale, uint64_t *ret)
{
    const u128 limit = (u128)1 << 126;
    u128 value = (u128)number->mantissa << number->two;
    bool inexact = number->inexact;
    int ten = number->ten + scale;

    for (; ten > 0 && value > 0; ten--) {
        if (value > limit / 10)
            return false;
        value *= 10;
    }
    for (; ten < 0 && value > 0; ten++) {
        inexact = inexact || value % 10 != 0;
        value /= 10;
    }
    value += inexact ? 1 : 0;
    *ret = (uint64_t)value;
    return value <= INT64_MAX;
}

static int parse(const char *text, int scale, bool may_be_negative, int64_t *ret,
                 struct cw_err *err)
{
    struct number number = {0};
    const char *rest = read_mantissa(text, &number);
    uint64_t value = 0;

    if (!rest || !read_suffix(rest, &number))
        return cw_err_set(err, CW_E_INVALID,
                          "\"%.64s\" is no quantity; one is a number like 10, 1.5 or 1e3, or one "
                          "with a suffix of n u m k M G T P E Ki Mi Gi Ti Pi Ei",
                          text);
    if (number.negative && !may_be_negative && number.mantissa > 0)
        return cw_err_set(err, CW_E_LIMIT, "\"%.64s\" is negative", text);
    if (!to_integer(&number, scale, &value))
        return cw_err_set(err, CW_E_LIMIT, "\"%.64s\" is too large", text);
    *ret = number.negative ? -(int64_t)value : (int64_t)value;
    return CW_OK;
}

int cw_kube_quantity(const char *text, int64_t *ret_units, struct cw_err *err)
{
    return parse(text, 0, false, ret_units, err);
}

int cw_kube_quantity_milli(const char *text, int64_t *ret_milli, struct cw_err *err)
{
    return parse(text, 3, true, ret_milli, err);
}
