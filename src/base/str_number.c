/* SPDX-License-Identifier: Apache-2.0 */
/* Converts numbers to and from text, in the C locale, whatever locale the program has set. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/str.h"

static locale_t c_locale(void)
{
    static _Atomic(locale_t) cached;
    locale_t now = atomic_load(&cached);

    if (now)
        return now;
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    CW_ASSERT(made != (locale_t)0);
    if (atomic_compare_exchange_strong(&cached, &now, made))
        return made;
    freelocale(made);
    return now;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool cw_str_to_i64(const char *s, int64_t *ret)
{
    char *end = NULL;

    if (!s || !(is_digit(s[0]) || ((s[0] == '-' || s[0] == '+') && is_digit(s[1]))))
        return false;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret = v;
    return true;
}

bool cw_str_to_u64(const char *s, uint64_t *ret)
{
    char *end = NULL;

    if (!s || !is_digit(s[0]))
        return false;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret = v;
    return true;
}

/* Reads a decimal floating-point number at the start of s; *ret_end is behind it. "inf", "nan" and
 * hexadecimal numbers are refused. */
static bool read_f64(const char *s, double *ret, const char **ret_end)
{
    size_t n = strspn(s, "0123456789+-.eE");
    char *end = NULL;

    if (n == 0 || !(is_digit(s[0]) || s[0] == '-' || s[0] == '+' || s[0] == '.'))
        return false;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        return false;
    double v = strtod_l(s, &end, c_locale());
    if (end == s || !isfinite(v) || (size_t)(end - s) > n)
        return false;
    *ret = v;
    *ret_end = end;
    return true;
}

bool cw_str_to_f64(const char *s, double *ret)
{
    const char *end = NULL;
    double v;

    if (!s || !read_f64(s, &v, &end) || *end != '\0')
        return false;
    *ret = v;
    return true;
}

bool cw_str_to_f32(const char *s, float *ret)
{
    double v;
    if (!cw_str_to_f64(s, &v))
        return false;
    const float f = strtof_l(s, NULL, c_locale());
    if (!isfinite(f))
        return false;
    *ret = f;
    return true;
}

void cw_str_add_f64(struct cw_str *str, double v)
{
    char text[40];
    locale_t before = uselocale(c_locale());

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (digits == 17 || strtod(text, NULL) == v)
            break;
    }
    uselocale(before);
    cw_str_add(str, text);
    if (isfinite(v) && !strpbrk(text, ".e"))
        cw_str_add(str, ".0");
}

struct unit {
    const char *name;
    double factor;
};

static bool find_unit(const struct unit *units, const char *name, double *ret_factor)
{
    for (; units->name; units++) {
        if (strcmp(units->name, name) == 0) {
            *ret_factor = units->factor;
            return true;
        }
    }
    return false;
}

bool cw_str_to_bytes(const char *s, uint64_t *ret)
{
    static const struct unit units[] = {
        {"", 1},         {"B", 1},        {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30},
        {"T", 0x1p40},   {"k", 0x1p10},   {"m", 0x1p20},   {"g", 0x1p30},   {"t", 0x1p40},
        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},
        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {NULL, 0}};
    const char *end = NULL;
    double v, factor;

    if (cw_str_to_u64(s, ret))
        return true;
    if (!s || !read_f64(s, &v, &end))
        return false;
    if (*end == ' ')
        end++;
    if (!find_unit(units, end, &factor) || v < 0 || v * factor >= 0x1p63)
        return false;
    *ret = (uint64_t)(v * factor);
    return true;
}

void cw_str_add_size(struct cw_str *str, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t i = 0;
    /* 1023.95 and more would be written as 1024.0. */
    for (; bytes >= 1023.95 && i + 1 < CW_ARRAY_LEN(units); i++)
        bytes /= 1024;
    cw_str_addf(str, i == 0 ? "%.0f %s" : "%.1f %s", bytes, units[i]);
}

bool cw_str_to_ms(const char *s, int64_t *ret)
{
    static const struct unit units[] = {{"", 1e3},   {"us", 1e-3},  {"ms", 1},     {"s", 1e3},
                                        {"m", 60e3}, {"min", 60e3}, {"h", 3600e3}, {NULL, 0}};
    const char *end = NULL;
    double v, factor;

    if (!s || !read_f64(s, &v, &end))
        return false;
    if (*end == ' ')
        end++;
    if (!find_unit(units, end, &factor) || v < 0 || v * factor >= 0x1p53)
        return false;
    *ret = (int64_t)(v * factor + 0.5);
    return true;
}
