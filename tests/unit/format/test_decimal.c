/* SPDX-License-Identifier: Apache-2.0 */
/* Floats against strtod and strtof, whose results are the nearest ones: random numbers of all lengths
 * and magnitudes, and numbers in the middle of two floats. */
#include "support/cm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/decimal.h"

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void check_float(const char *text)
{
    struct cw_decimal d;
    double v = 0, want = strtod(text, NULL);
    float f = 0, want_f = strtof(text, NULL);
    const size_t n = strlen(text);
    const char *end = cw_decimal_scan(text, text + n, CW_DECIMAL_JSON, &d);
    assert_ptr_equal(end, text + n);
    assert_int_equal(cw_decimal_put(&d, CW_DTYPE_F64, &v), !isinf(want));
    assert_int_equal(cw_decimal_put(&d, CW_DTYPE_F32, &f), !isinf(want_f));
    if (!isinf(want) && memcmp(&v, &want, sizeof(v)) != 0)
        fail_msg("%s: %a, not %a", text, v, want);
    if (!isinf(want_f) && memcmp(&f, &want_f, sizeof(f)) != 0)
        fail_msg("%s as f32: %a, not %a", text, (double)f, (double)want_f);
}

static void floats_are_the_nearest(void **state)
{
    uint64_t seed = 88172645463325252u;
    char text[128];
    (void)state;
    for (int i = 0; i < 300000; i++) {
        const int digits = 1 + (int)(draw(&seed) % 22), exponent = (int)(draw(&seed) % 90) - 45;
        size_t n = draw(&seed) % 2 ? 1 : 0;
        text[0] = '-';
        text[n++] = (char)('1' + draw(&seed) % 9);
        text[n++] = '.';
        for (int k = 0; k < digits; k++)
            text[n++] = (char)('0' + draw(&seed) % 10);
        snprintf(text + n, sizeof(text) - n, "e%d", i % 3 ? exponent : exponent * 9);
        check_float(text);
    }
}

static void floats_that_were_printed_come_back(void **state)
{
    uint64_t seed = 5;
    char text[1200];
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = draw(&seed) & ~(UINT64_C(1) << 62);
        double v;
        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v))
            continue;
        snprintf(text, sizeof(text), "%.*g", 15 + (int)(draw(&seed) % 4), v);
        check_float(text);
    }
}

/* What lies exactly between two floats, or a little above or below. */
static void middles_are_decided_by_all_digits(void **state)
{
    uint64_t seed = 99;
    char text[200];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const uint64_t m = (draw(&seed) >> 40) * 2 + 1;
        snprintf(text, sizeof(text), "%.60f", ldexp((double)m, (int)(draw(&seed) % 20) - 30));
        check_float(text);
        text[strlen(text) - 1] = '1';
        check_float(text);
        const uint64_t wide = (draw(&seed) >> 12) | UINT64_C(1) << 52;
        snprintf(text, sizeof(text), "%llu.5", (unsigned long long)wide);
        check_float(text);
        snprintf(text, sizeof(text), "%llu.50000000000000000000001", (unsigned long long)wide);
        check_float(text);
    }
    check_float("9007199254740993");
    check_float("0.000000000000000000000000000000000000000000000000000012345678901234567890");
    check_float("1e-400");
    check_float("-0.0");
    check_float("1e23");
    check_float("8.5e22");
    check_float("4.9e-324");
    check_float("1.7976931348623157e308");
    check_float("1e309");
    check_float("3.4028236e38");
}

struct integer {
    const char *text;
    enum cw_dtype dtype;
    bool fits;
    int64_t value;
};

static void integers_are_in_range(void **state)
{
    static const struct integer cases[] = {
        {"0", CW_DTYPE_U8, true, 0},
        {"255", CW_DTYPE_U8, true, 255},
        {"256", CW_DTYPE_U8, false, 0},
        {"-1", CW_DTYPE_U8, false, 0},
        {"-0", CW_DTYPE_U8, true, 0},
        {"127", CW_DTYPE_I8, true, 127},
        {"128", CW_DTYPE_I8, false, 0},
        {"-128", CW_DTYPE_I8, true, -128},
        {"-129", CW_DTYPE_I8, false, 0},
        {"9223372036854775807", CW_DTYPE_I64, true, INT64_MAX},
        {"9223372036854775808", CW_DTYPE_I64, false, 0},
        {"-9223372036854775808", CW_DTYPE_I64, true, INT64_MIN},
        {"18446744073709551615", CW_DTYPE_U64, false, 0},
        {"1.0", CW_DTYPE_I64, false, 0},
        {"1e2", CW_DTYPE_I64, false, 0},
        {"123456789012", CW_DTYPE_I32, false, 0},
        {"-2147483648", CW_DTYPE_I32, true, INT32_MIN},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const struct integer *c = &cases[i];
        struct cw_decimal d;
        int64_t v = 0;
        assert_non_null(cw_decimal_scan(c->text, c->text + strlen(c->text), CW_DECIMAL_JSON, &d));
        bool fits = cw_decimal_put(&d, c->dtype, &v);
        if (fits != c->fits)
            fail_msg("%s as %s", c->text, cw_dtype_name(c->dtype));
        if (fits)
            assert_memory_equal(&v, &c->value, cw_dtype_bytes(c->dtype));
    }
}

/* How much of a text is a number, by both grammars; -1: nothing. */
static void grammars(void **state)
{
    static const struct {
        const char *text;
        int json, csv;
    } cases[] = {{"1", 1, 1},     {"", -1, -1},    {"-", -1, -1}, {"+1", -1, 2},   {"01", -1, 2},
                 {"1.", 1, 2},    {".5", -1, 2},   {"1.5", 3, 3}, {"1e5", 3, 3},   {"1e", 1, 1},
                 {"1e+", 1, 1},   {"1E-5x", 4, 4}, {"-0", 2, 2},  {"--1", -1, -1}, {".", -1, -1},
                 {"1.5.5", 3, 3}, {"x", -1, -1},   {"0x1", 1, 1}, {"-.5", -1, 3}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const char *p = cases[i].text;
        struct cw_decimal d;
        const char *json = cw_decimal_scan(p, p + strlen(p), CW_DECIMAL_JSON, &d);
        const char *csv = cw_decimal_scan(p, p + strlen(p), CW_DECIMAL_CSV, &d);
        if ((json ? json - p : -1) != cases[i].json || (csv ? csv - p : -1) != cases[i].csv)
            fail_msg("\"%s\"", p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_the_nearest),
        cmocka_unit_test(floats_that_were_printed_come_back),
        cmocka_unit_test(middles_are_decided_by_all_digits),
        cmocka_unit_test(integers_are_in_range),
        cmocka_unit_test(grammars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
