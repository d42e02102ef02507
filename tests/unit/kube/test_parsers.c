/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities, times, Status objects and lines of a watch. */
#include <string.h>

#include "base/mem.h"
#include "kube/cut_lists.h"
#include "kube/field.h"
#include "kube/kube_status.h"
#include "kube/kube_time.h"
#include "kube/quantity.h"
#include "kube/watch_lines.h"
#include "support/cm.h"

static void quantities(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t units;
    } good[] = {
        {"0", 0},
        {"100Gi", INT64_C(100) << 30},
        {"1e3", 1000},
        {"1E3", 1000},
        {"1E", INT64_C(1000000000000000000)},
        {"1.5Ti", INT64_C(3) << 39},
        {"250m", 1},
        {"1000m", 1},
        {"1001m", 2},
        {"1n", 1},
        {"+5", 5},
        {"5.", 5},
        {".5Ki", 512},
        {"0.1Ki", 103},
        {"12e-1", 2},
        {"1e-2000000000000", 1},
        {"0e99999", 0},
        {"-0", 0},
        {"9223372036854775807", INT64_MAX},
        {"7.9999Ei", INT64_C(9223256744704315124)},
        {"128M", 128000000},
        {"0000000000000000000000000000001k", 1000},
        {"1.00000000000000000000000000001", 2},
        {"1000000000000000000000n", 1000000000000},
    };
    static const char *const bad[] = {"",     " ",    "Gi",  "1 Gi", "1gi",   "1KI", "1K",
                                      "--1",  "1e",   "1e+", "1e3k", "1.2.3", ".",   "+",
                                      "1Gi ", "0x10", "inf", "nan",  "1e3.5", "1,5"};
    static const char *const large[] = {"-1",   "-1m", "8Ei",  "9223372036854775808",
                                        "1e19", "10E", "1e99", "99999999999999999999999999999"};
    int64_t units = 0;
    struct cw_err err = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++) {
        if (cw_kube_quantity(good[i].text, &units, &err) != CW_OK)
            fail_msg("%s", err.msg);
        if (units != good[i].units)
            fail_msg("%s is %lld", good[i].text, (long long)units);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        if (cw_kube_quantity(bad[i], &units, NULL) != CW_E_INVALID)
            fail_msg("\"%s\" is a quantity", bad[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(large); i++)
        if (cw_kube_quantity(large[i], &units, NULL) != CW_E_LIMIT)
            fail_msg("\"%s\" is no limit", large[i]);
    assert_int_equal(cw_kube_quantity_milli("250m", &units, NULL), CW_OK);
    assert_int_equal(units, 250);
    assert_int_equal(cw_kube_quantity_milli("1.5", &units, NULL), CW_OK);
    assert_int_equal(units, 1500);
    assert_int_equal(cw_kube_quantity_milli("-1.0001", &units, NULL), CW_OK);
    assert_int_equal(units, -1001);
    assert_int_equal(cw_kube_quantity("x\ny", &units, &err), CW_E_INVALID);
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
    } good[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:01.5Z", 1500000},
        {"1969-12-31T23:59:59.999999Z", -1},
        {"2026-11-21T08:00:05.000000Z", INT64_C(1795248005000000)},
        {"2026-11-21T09:30:05.000001+01:30", INT64_C(1795248005000001)},
        {"2026-11-20T22:00:05.123456789-10:00", INT64_C(1795248005123456)},
        {"2024-02-29T00:00:00Z", INT64_C(1709164800000000)},
        {"9999-12-31T23:59:59Z", INT64_C(253402300799000000)},
    };
    static const char *const bad[] = {"",
                                      "now",
                                      "2026-11-21",
                                      "2026-11-21T08:00:05",
                                      "2026-11-21 08:00:05Z",
                                      "2026-11-21T08:00:05Z ",
                                      "2026-13-21T08:00:05Z",
                                      "2026-00-21T08:00:05Z",
                                      "2023-02-29T00:00:00Z",
                                      "1900-02-29T00:00:00Z",
                                      "2026-11-31T08:00:05Z",
                                      "2026-11-21T24:00:00Z",
                                      "2026-11-21T08:60:00Z",
                                      "2026-11-21T08:00:60Z",
                                      "2026-11-21T08:00:05.Z",
                                      "2026-11-21T08:00:05.1234567890Z",
                                      "2026-11-21T08:00:05+24:00",
                                      "2026-11-21T08:00:05+1:00",
                                      "-026-11-21T08:00:05Z"};
    char text[CW_KUBE_TIME_BYTES];
    int64_t us = 0, again = 0;
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++) {
        assert_int_equal(cw_kube_time_parse(good[i].text, &us, NULL), CW_OK);
        if (us != good[i].us)
            fail_msg("%s is %lld", good[i].text, (long long)us);
        cw_kube_time_print_us(us, text);
        assert_int_equal(cw_kube_time_parse(text, &again, NULL), CW_OK);
        assert_int_equal(again, us);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        if (cw_kube_time_parse(bad[i], &us, NULL) != CW_E_INVALID)
            fail_msg("\"%s\" is a time", bad[i]);
    for (int64_t t = -INT64_C(60000000000000000); t < INT64_C(250000000000000000);
         t += INT64_C(86400000000) * 97 + 3599000001) {
        cw_kube_time_print_us(t, text);
        assert_int_equal(cw_kube_time_parse(text, &us, NULL), CW_OK);
        assert_int_equal(us, t);
    }
    cw_kube_time_print_s(1999999, text);
    assert_string_equal(text, "1970-01-01T00:00:01Z");
    cw_kube_time_print_us(1999999, text);
    assert_string_equal(text, "1970-01-01T00:00:01.999999Z");
    cw_kube_time_print_s(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59Z");
    cw_kube_time_print_s(INT64_MIN, text);
    assert_string_equal(text, "0000-01-01T00:00:00Z");
}

static struct cw_kube_status status_of(const char *text, int http, const char *retry_after)
{
    struct cw_kube_status status;
    cw_kube_status_read(text, strlen(text), http, retry_after, &status);
    return status;
}

static void statuses(void **state)
{
    (void)state;
    struct cw_kube_status s = status_of("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                                        "\"Failure\",\"message\":\"no\\nway\","
                                        "\"reason\":\"AlreadyExists\",\"code\":409}",
                                        409, NULL);
    assert_int_equal(s.reason, CW_KUBE_AlreadyExists);
    assert_int_equal(cw_kube_reason_code(s.reason), CW_E_EXISTS);
    assert_string_equal(s.message, "no way");
    s = status_of(
        "{\"kind\":\"Status\",\"message\":\"it is invalid\",\"reason\":\"Invalid\",\"details\":"
        "{\"causes\":[{\"field\":\"spec.x\",\"message\":\"Required\"},{}]}}",
        422, NULL);
    assert_int_equal(s.reason, CW_KUBE_Invalid);
    assert_string_equal(s.message, "it is invalid; spec.x: Required");
    s = status_of("{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}", 0, NULL);
    assert_int_equal(s.reason, CW_KUBE_Expired);
    assert_int_equal(s.http, 410);
    s = status_of("{\"kind\":\"Status\",\"reason\":\"Brandnew\",\"code\":418}", 0, NULL);
    assert_int_equal(s.reason, CW_KUBE_Unknown);
    s = status_of("{\"kind\":\"Status\",\"reason\":7,\"code\":\"410\",\"message\":[]}", 410, NULL);
    assert_int_equal(s.reason, CW_KUBE_Expired);
    s = status_of("<html>503</html>", 503, "7");
    assert_int_equal(s.reason, CW_KUBE_ServiceUnavailable);
    assert_int_equal(s.retry_after_ms, 7000);
    assert_string_equal(s.message, "");
    s = status_of("{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"details\":"
                  "{\"retryAfterSeconds\":3}}",
                  429, NULL);
    assert_int_equal(s.retry_after_ms, 3000);
    s = status_of("", 429, "Fri, 31 Dec 1999 23:59:59 GMT");
    assert_int_equal(s.retry_after_ms, 0);
    assert_int_equal(status_of("", 503, "99999999").retry_after_ms, 3600000);
    assert_int_equal(status_of("", 503, "-5").retry_after_ms, 0);
    assert_int_equal(status_of("{}", 409, NULL).reason, CW_KUBE_Conflict);
    assert_int_equal(status_of("{\"kind\":\"Pod\",\"reason\":\"NotFound\"}", 403, NULL).reason,
                     CW_KUBE_Forbidden);
    assert_int_equal(status_of("[]", 502, NULL).reason, CW_KUBE_InternalError);
    assert_int_equal(status_of("", 302, NULL).reason, CW_KUBE_Unknown);
    assert_string_equal(cw_kube_reason_name(CW_KUBE_Gone), "Gone");
    /* A long message is cut between characters. */
    CW_STR_AUTO text = {0};
    cw_str_add(&text, "{\"kind\":\"Status\",\"message\":\"a");
    for (int i = 0; i < 600; i++)
        cw_str_add(&text, "\xc3\xa4");
    cw_str_add(&text, "\"}");
    s = status_of(text.s, 500, NULL);
    assert_int_equal(strlen(s.message), 511);
    assert_int_equal((unsigned char)s.message[510], 0xa4);
}

static int keep_line(void *arg, const char *line, size_t n, struct cw_err *err)
{
    struct cw_str *out = arg;
    cw_str_add_bytes(out, line, n);
    cw_str_add_char(out, '|');
    return n == 4 && memcmp(line, "stop", 4) == 0 ? cw_err_set(err, CW_E_END, "stop") : CW_OK;
}

static void lines_split_anywhere(void **state)
{
    (void)state;
    static const char text[] = "one\n\ntwo\r\n{\"x\":1}\n\r\nlast\nrest";
    size_t n = sizeof(text) - 1;
    for (size_t a = 0; a <= n; a++) {
        for (size_t b = a; b <= n; b++) {
            struct cw_kube_lines lines = {.max = 7};
            CW_STR_AUTO out = {0};
            assert_int_equal(cw_kube_lines_add(&lines, text, a, keep_line, &out, NULL), CW_OK);
            assert_int_equal(cw_kube_lines_add(&lines, text + a, b - a, keep_line, &out, NULL),
                             CW_OK);
            assert_int_equal(cw_kube_lines_add(&lines, text + b, n - b, keep_line, &out, NULL),
                             CW_OK);
            assert_string_equal(out.s, "one|two|{\"x\":1}|last|");
            cw_kube_lines_fini(&lines);
        }
    }
}

static void lines_have_a_limit(void **state)
{
    (void)state;
    struct cw_kube_lines lines = {.max = 4};
    struct cw_err err = {0};
    CW_STR_AUTO out = {0};
    assert_int_equal(cw_kube_lines_add(&lines, "1234\n12", 7, keep_line, &out, &err), CW_OK);
    assert_int_equal(cw_kube_lines_add(&lines, "34", 2, keep_line, &out, &err), CW_OK);
    assert_int_equal(cw_kube_lines_add(&lines, "5", 1, keep_line, &out, &err), CW_E_LIMIT);
    assert_string_equal(err.msg, "a line is longer than 4 bytes");
    cw_kube_lines_reset(&lines);
    assert_int_equal(cw_kube_lines_add(&lines, "12345\n", 6, keep_line, &out, &err), CW_E_LIMIT);
    cw_kube_lines_reset(&lines);
    assert_int_equal(cw_kube_lines_add(&lines, "stop\nmore\n", 10, keep_line, &out, &err),
                     CW_E_END);
    assert_string_equal(out.s, "1234|stop|");
    cw_kube_lines_fini(&lines);
}

static void cut_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cut; /* NULL: there is none */
    } cases[] = {
        {"{}", NULL},
        {"", NULL},
        {"\"managedFields\":[1]", NULL},
        {"{\"managedFields\":null}", NULL},
        {"{\"managedFields\":[]}", "{\"managedFields\":[]}"},
        {"{\"a\":{\"managedFields\":[{\"f\":\"]\\\"[\\\\\"},[2]],\"b\":1},\"c\":[3]}",
         "{\"a\":{\"managedFields\":[],\"b\":1},\"c\":[3]}"},
        {"{\"managedFields\":[1],\"x\":{\"managedFields\":[2]}}",
         "{\"managedFields\":[],\"x\":{\"managedFields\":[]}}"},
        {"{\"x\":\"\\\"managedFields\\\":[1]\"}", NULL},
        {"{\"x\\\"managedFields\":[1]}", NULL},
        {"{\"managedFields\":[1", "{\"managedFields\":["},
        {"{\"managedFields\":[", "{\"managedFields\":["},
        {"{\"managedFields\":[\"\\", "{\"managedFields\":["},
        {"{\"managedFields\":[\"]", "{\"managedFields\":["},
        {"{\"managedFields\":[\"\\\\\"],\"a\":[\"\\\\\\\"]\"]}",
         "{\"managedFields\":[],\"a\":[\"\\\\\\\"]\"]}"},
        {"{\"a\":\"{\\\"managedFields\\\":[1]}\",\"managedFields\":[{\"b\":\"[{\"}]}",
         "{\"a\":\"{\\\"managedFields\\\":[1]}\",\"managedFields\":[]}"},
        {"{\"a\":\"\\\\\",\"managedFields\":[1]}", "{\"a\":\"\\\\\",\"managedFields\":[]}"},
        {"{\"managedFields\":{\"env\":[1]}}", "{\"managedFields\":{\"env\":[]}}"},
        {"{\"x\":[\"env\",[1],\":[\"]}", NULL},
        {"{\"env\":[1],\"managedFields\":[{\"env\":[2]}],\"env\":[[3],4],\"a\":5}",
         "{\"env\":[],\"managedFields\":[],\"env\":[],\"a\":5}"},
        {"{\"managedFields\":[1],\"envFrom\":[2]}", "{\"managedFields\":[],\"envFrom\":[2]}"},
    };
    static const char *const members[] = {CW_KUBE_LIST("env"), CW_KUBE_LIST("managedFields"), NULL};
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        CW_STR_AUTO out = {0};
        bool cut = cw_kube_cut_lists(cases[i].text, strlen(cases[i].text), members, &out);
        assert_int_equal(cut, cases[i].cut != NULL);
        assert_string_equal(cw_str_text(&out), cases[i].cut ? cases[i].cut : "");
    }
}

static void fields(void **state)
{
    (void)state;
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\",\"n\":7,\"s\":\"7\",\"f\":7.0},\"items\":[1,2]}";
    struct cw_value v = {0};
    size_t n = 9;
    int64_t i = 0;
    assert_int_equal(cw_value_parse(text, sizeof(text) - 1, NULL, &v, NULL), CW_OK);
    assert_string_equal(cw_kube_text(&v, "metadata.name"), "a");
    assert_null(cw_kube_text(&v, "metadata.n"));
    assert_null(cw_kube_text(&v, "metadata.na"));
    assert_null(cw_kube_text(&v, "metadata.name.x"));
    assert_null(cw_kube_text(NULL, "metadata"));
    assert_true(cw_kube_i64(&v, "metadata.n", &i));
    assert_int_equal(i, 7);
    assert_false(cw_kube_i64(&v, "metadata.s", &i));
    assert_false(cw_kube_i64(&v, "metadata.f", &i));
    assert_non_null(cw_kube_list(&v, "items", &n));
    assert_int_equal(n, 2);
    assert_null(cw_kube_list(&v, "metadata", &n));
    assert_int_equal(n, 0);
    cw_value_fini(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities),         cmocka_unit_test(times),
        cmocka_unit_test(statuses),           cmocka_unit_test(lines_split_anywhere),
        cmocka_unit_test(lines_have_a_limit), cmocka_unit_test(fields),
        cmocka_unit_test(cut_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
