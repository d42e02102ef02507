/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static void grows_and_hands_over(void **state)
{
    CW_STR_AUTO str = {0};

    (void)state;
    assert_string_equal(cw_str_text(&str), "");
    for (int i = 0; i < 1000; i++)
        cw_str_addf(&str, "%d,", i % 10);
    assert_int_equal(str.len, 2000);
    assert_int_equal(strlen(str.s), 2000);
    cw_str_clear(&str);
    cw_str_add_bytes(&str, "a\0b", 3);
    assert_int_equal(str.len, 3);
    cw_str_add_char(&str, 'c');
    char *taken = cw_str_take(&str);
    assert_memory_equal(taken, "a\0bc", 5);
    cw_mem_free(taken);
    taken = cw_str_take(&str);
    assert_string_equal(taken, "");
    cw_mem_free(taken);
}

static void check_json(const char *in, size_t n, const char *out)
{
    CW_STR_AUTO str = {0};

    cw_str_add_json(&str, in, n);
    assert_string_equal(cw_str_text(&str), out);
}

static void writes_json_strings(void **state)
{
    (void)state;
    check_json("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    check_json("\n\t\r\b\f\v\x01", 7, "\"\\n\\t\\r\\b\\f\\u000b\\u0001\"");
    check_json("\xe2\x82\xac", 3, "\"\xe2\x82\xac\"");
    check_json("\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_json("\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    check_json("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void reads_whole_numbers(void **state)
{
    int64_t i = 0;
    uint64_t u = 0;

    (void)state;
    assert_true(cw_str_to_i64("-9223372036854775808", &i) && i == INT64_MIN);
    assert_true(cw_str_to_u64("18446744073709551615", &u) && u == UINT64_MAX);
    assert_false(cw_str_to_i64("9223372036854775808", &i));
    assert_false(cw_str_to_u64("18446744073709551616", &u));
    static const char *const bad[] = {"", " 1", "1 ", "1x", "0x1", "--1", "-", "1.0", NULL};
    for (int k = 0; bad[k]; k++)
        assert_false(cw_str_to_i64(bad[k], &i));
    assert_false(cw_str_to_u64("-1", &u));
    assert_false(cw_str_to_i64(NULL, &i));
}

static void reads_and_writes_reals(void **state)
{
    static const struct {
        double v;
        const char *text;
    } rows[] = {{1, "1.0"},
                {0.1, "0.1"},
                {-2.5, "-2.5"},
                {1e300, "1e+300"},
                {1.0 / 3, "0.3333333333333333"},
                {123456789, "123456789.0"}};
    double f = 0;

    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        CW_STR_AUTO str = {0};
        cw_str_add_f64(&str, rows[i].v);
        assert_string_equal(cw_str_text(&str), rows[i].text);
        assert_true(cw_str_to_f64(rows[i].text, &f) && memcmp(&f, &rows[i].v, sizeof(f)) == 0);
    }
    static const char *const bad[] = {"", "inf", "nan", "0x10", "1e999", "1,5", " 1", "1.5s", NULL};
    for (int k = 0; bad[k]; k++)
        assert_false(cw_str_to_f64(bad[k], &f));
}

static void expect_size(double bytes, const char *text)
{
    CW_STR_AUTO size = {0};
    cw_str_add_size(&size, bytes);
    assert_string_equal(cw_str_text(&size), text);
}

static void writes_sizes_as_they_are_read(void **state)
{
    static const char *const texts[] = {"500.0 MiB", "64.0 KiB", "1.5 GiB", "2.0 TiB", "77 B"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        uint64_t bytes;
        assert_true(cw_str_to_bytes(texts[i], &bytes));
        expect_size((double)bytes, texts[i]);
    }
    expect_size(0, "0 B");
    expect_size(1023, "1023 B");
    expect_size(1023.95 * 1024, "1.0 MiB");
    expect_size(1023.9 * 1024, "1023.9 KiB");
    expect_size(0x1p60, "1024.0 PiB");
}

static void reads_sizes_and_times(void **state)
{
    uint64_t b = 0;
    int64_t ms = 0;

    (void)state;
    assert_true(cw_str_to_bytes("64M", &b) && b == 64u << 20);
    assert_true(cw_str_to_bytes("1.5KiB", &b) && b == 1536);
    assert_true(cw_str_to_bytes("2 MB", &b) && b == 2000000);
    assert_true(cw_str_to_bytes("123", &b) && b == 123);
    assert_false(cw_str_to_bytes("64X", &b));
    assert_false(cw_str_to_bytes("-1K", &b));
    assert_false(cw_str_to_bytes("99999999999T", &b));
    assert_true(cw_str_to_ms("250ms", &ms) && ms == 250);
    assert_true(cw_str_to_ms("3s", &ms) && ms == 3000);
    assert_true(cw_str_to_ms("3", &ms) && ms == 3000);
    assert_true(cw_str_to_ms("1h", &ms) && ms == 3600000);
    assert_false(cw_str_to_ms("3 days", &ms));
    assert_false(cw_str_to_ms("", &ms));
}

static void finds_what_was_meant(void **state)
{
    static const char *const words[] = {"size", "shuffle", "drop_remainder", "p", NULL};
    char big[200];

    (void)state;
    assert_string_equal(cw_str_nearest("sise", words), "size");
    assert_string_equal(cw_str_nearest("suhffle", words), "shuffle");
    assert_string_equal(cw_str_nearest("drop_reminder", words), "drop_remainder");
    assert_null(cw_str_nearest("x", words));
    assert_null(cw_str_nearest("interleave", words));
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_null(cw_str_nearest(big, words));
    assert_true(cw_str_eq(NULL, NULL) && !cw_str_eq("a", NULL) && cw_str_eq("a", "a"));
    assert_true(cw_str_starts("abc", "ab") && !cw_str_starts("a", "ab"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(grows_and_hands_over),          cmocka_unit_test(writes_json_strings),
    cmocka_unit_test(reads_whole_numbers),           cmocka_unit_test(reads_and_writes_reals),
    cmocka_unit_test(writes_sizes_as_they_are_read), cmocka_unit_test(reads_sizes_and_times),
    cmocka_unit_test(finds_what_was_meant),
};
CW_TESTS_MAIN(tests)
