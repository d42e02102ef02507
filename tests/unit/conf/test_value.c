/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/value.h"

static struct cw_value parse(const char *text)
{
    struct cw_value value = {0};
    struct cw_err err = {0};

    if (cw_value_parse(text, strlen(text), NULL, &value, &err) != CW_OK)
        fail_msg("%s", err.msg);
    return value;
}

static void check_print(const char *text, const char *canonical)
{
    struct cw_value value = parse(text), again;
    CW_STR_AUTO out = {0};

    cw_value_print(&value, &out);
    assert_string_equal(cw_str_text(&out), canonical);
    again = parse(canonical);
    assert_true(cw_value_eq(&value, &again));
    cw_value_fini(&value);
    cw_value_fini(&again);
}

static void prints_canonically(void **state)
{
    (void)state;
    check_print(" { \"b\" : [ 1 , 2.50 , -3e2 ] , \"a\" : null, \"A\": true}",
                "{\"A\":true,\"a\":null,\"b\":[1,2.5,-300.0]}");
    check_print("\"\\u20ac\\n\"", "\"\xe2\x82\xac\\n\"");
    check_print("1.0", "1.0");
    check_print("1", "1");
    check_print("-9223372036854775808", "-9223372036854775808");
    check_print("[]", "[]");
    check_print("{}", "{}");
    check_print("0.1", "0.1");
}

static void check_error(const char *text, const char *begins)
{
    struct cw_value value = {0};
    struct cw_err err = {0};

    assert_int_equal(cw_value_parse(text, strlen(text), "f.json", &value, &err), CW_E_INVALID);
    if (!cw_str_starts(err.msg, begins))
        fail_msg("\"%s\" does not begin with \"%s\"", err.msg, begins);
}

static void errors_say_where(void **state)
{
    char deep[200];
    struct cw_value value = {0};

    (void)state;
    check_error("", "f.json:1:1: empty");
    check_error("{\"a\": 1,\n \"a\": 2}", "f.json:2:4: duplicate object key");
    check_error("[1,\n 2,\n x]", "f.json:3:");
    check_error("{\"a\": \"\\u0000\"}", "f.json:1:");
    check_error("[1] 2", "f.json:1:");
    check_error("99999999999999999999", "f.json:1:");
    check_error("\"\xff\"", "f.json:1:");
    memset(deep, '[', 33);
    deep[33] = '\0';
    check_error(deep, "f.json:1:33: lists and objects nested deeper");
    memset(deep, '[', 32);
    memset(deep + 32, ']', 32);
    deep[64] = '\0';
    value = parse(deep);
    cw_value_fini(&value);
    value = parse("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[\"");
    cw_value_fini(&value);
}

static void objects_keep_their_order(void **state)
{
    struct cw_value value = parse("{\"z\":1,\"a\":2,\"m\":{\"x\":[1,2]}}");
    struct cw_value copy, other = parse("{\"m\":{\"x\":[1,2]},\"z\":1,\"a\":2}");

    (void)state;
    assert_int_equal(value.n, 3);
    assert_string_equal(value.keys[0], "z");
    assert_string_equal(value.keys[2], "m");
    assert_int_equal(cw_value_get(&value, "a")->i, 2);
    assert_null(cw_value_get(&value, "q"));
    assert_null(cw_value_get(&value.items[0], "q"));
    cw_value_copy(&copy, &value);
    assert_true(cw_value_eq(&copy, &value) && cw_value_eq(&copy, &other));
    cw_value_set_i64(cw_value_member(&copy, "a"), 3);
    assert_false(cw_value_eq(&copy, &value));
    cw_value_fini(&value);
    cw_value_fini(&other);
    cw_value_fini(&copy);
    value = parse("[1, 1.0]");
    assert_false(cw_value_eq(&value.items[0], &value.items[1]));
    cw_value_fini(&value);
}

static void builders_build(void **state)
{
    struct cw_value value = {0};
    CW_STR_AUTO out = {0};

    (void)state;
    cw_value_set_object(&value);
    struct cw_value *items = cw_value_set_list(cw_value_member(&value, "l"), 3);
    cw_value_set_bool(&items[0], true);
    cw_value_set_str(&items[1], "x");
    cw_value_set_f64(&items[2], 2);
    cw_value_set_str(cw_value_member(&value, "s"), "first");
    cw_value_set_str(cw_value_member(&value, "s"), "second");
    cw_value_print(&value, &out);
    assert_string_equal(cw_str_text(&out), "{\"l\":[true,\"x\",2.0],\"s\":\"second\"}");
    cw_value_fini(&value);
    cw_value_fini(&value);
    cw_value_fini(NULL);
}

static void files_are_loaded(void **state)
{
    char path[] = "/tmp/cw_test_value_XXXXXX";
    struct cw_value value = {0};
    struct cw_err err = {0};
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0 && write(fd, "[1,\n2", 5) == 5);
    assert_int_equal(cw_value_load(path, &value, &err), CW_E_INVALID);
    assert_true(cw_str_starts(err.msg, path) && strstr(err.msg, ":2:"));
    assert_int_equal(write(fd, "]", 1), 1);
    assert_int_equal(cw_value_load(path, &value, &err), CW_OK);
    assert_int_equal(value.n, 2);
    cw_value_fini(&value);
    close(fd);
    unlink(path);
    assert_int_equal(cw_value_load(path, &value, &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, path));
    assert_int_equal(cw_value_load("/", &value, &err), CW_E_INVALID);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(prints_canonically), cmocka_unit_test(errors_say_where),
    cmocka_unit_test(objects_keep_their_order), cmocka_unit_test(builders_build),
    cmocka_unit_test(files_are_loaded)};
CW_TESTS_MAIN(tests)
