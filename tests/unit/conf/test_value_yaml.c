/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "conf/value_yaml.h"

/* Parses YAML and compares it with what JSON says. */
static void check(const char *yaml, const char *json)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    CW_STR_AUTO out = {0};

    if (cw_value_parse_yaml(yaml, strlen(yaml), NULL, &value, &err) != CW_OK)
        fail_msg("%s", err.msg);
    cw_value_print(&value, &out);
    assert_string_equal(cw_str_text(&out), json);
    cw_value_fini(&value);
}

static void test_scalars_follow_the_core_schema(void **state)
{
    (void)state;
    check("[~, null, Null, NULL, ]", "[null,null,null,null]");
    check("[true, True, FALSE, yes, on, no]", "[true,true,false,\"yes\",\"on\",\"no\"]");
    check("[1, -17, +3, 0o17, 0x1F, 007, 1_000, 12:30]", "[1,-17,3,15,31,7,\"1_000\",\"12:30\"]");
    check("[8e-09, 1e3, .5, 1., -2.5E+2, 1e, e1, ., +]",
          "[8e-09,1000.0,0.5,1.0,-250.0,\"1e\",\"e1\",\".\",\"+\"]");
    check("[9223372036854775807, 9223372036854775808]",
          "[9223372036854775807,9.223372036854776e+18]");
    check("['1', \"true\", '', \"a\\tb\"]", "[\"1\",\"true\",\"\",\"a\\tb\"]");
    check("text: |\n  two\n  lines\n", "{\"text\":\"two\\nlines\\n\"}");
}

static void test_objects(void **state)
{
    (void)state;
    check("a:\n  1: {x: 2}\n  0: []\nb:\n- c\n- d: e\n",
          "{\"a\":{\"0\":[],\"1\":{\"x\":2}},\"b\":[\"c\",{\"d\":\"e\"}]}");
    check("{\"json\": [1, 2.5, null], \"is\": {\"yaml\": true}}",
          "{\"is\":{\"yaml\":true},\"json\":[1,2.5,null]}");
    check("# a comment\n---\na: 1\n...\n", "{\"a\":1}");
    check("a:", "{\"a\":null}");
}

static void check_error(const char *yaml, const char *msg)
{
    struct cw_value value = {0};
    struct cw_err err = {0};

    assert_int_equal(cw_value_parse_yaml(yaml, strlen(yaml), "f", &value, &err), CW_E_INVALID);
    assert_string_equal(err.msg, msg);
    assert_int_equal(value.type, CW_VALUE_NULL);
}

static void test_what_json_cannot_say_is_refused(void **state)
{
    (void)state;
    check_error("a: &x 1\nb: 2", "f:1:4: anchors and tags are not read");
    check_error("a: [1]\nb: *a", "f:2:4: aliases are not read");
    check_error("a: !!int 1", "f:1:4: anchors and tags are not read");
    check_error("a: &x [1]", "f:1:4: anchors and tags are not read");
    check_error("a: !x {}", "f:1:4: anchors and tags are not read");
    check_error("&k a: 1", "f:1:1: a key that is no plain text");
    check_error("[1]: 2", "f:1:1: a key that is no plain text");
    check_error("a: 1\nb: 2\na: 3", "f:3:1: a key that is there already");
    check_error("a: .nan", "f:1:4: a number that is not finite");
    check_error("a: 1e999", "f:1:4: a number that is not finite");
    check_error("a: -.inf", "f:1:4: a number that is not finite");
    check_error("a: \"x\\0y\"", "f:1:4: a text has a NUL in it");
    check_error("--- 1\n--- 2", "f:2:1: a second document");
    check_error("", "f:1:1: empty where YAML is expected");
    check_error("a: [1", "f:2:1: did not find expected ',' or ']'");
    check_error("\tx: 1", "f:1:1: found character that cannot start any token");
    check_error("a: \xff", "f:1:1: invalid leading UTF-8 octet");
}

static void test_depth_and_size_are_bounded(void **state)
{
    (void)state;
    CW_STR_AUTO deep = {0};
    CW_STR_AUTO wide = {0};
    struct cw_value value = {0};
    struct cw_err err = {0};

    for (int i = 0; i < CW_VALUE_DEPTH_MAX; i++)
        cw_str_add(&deep, "[");
    for (int i = 0; i < CW_VALUE_DEPTH_MAX; i++)
        cw_str_add(&deep, "]");
    assert_int_equal(cw_value_parse_yaml(cw_str_text(&deep), deep.len, "f", &value, &err), 0);
    cw_value_fini(&value);
    CW_STR_AUTO deeper = {0};
    cw_str_addf(&deeper, "[%s]", cw_str_text(&deep));
    check_error(cw_str_text(&deeper), "f:1:33: lists and objects nested deeper than 32");
    for (int i = 0; i <= 10000; i++)
        cw_str_addf(&wide, "k%d: %d\n", i, i);
    check_error(cw_str_text(&wide), "f:10001:1: more than 10000 keys in one object");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_scalars_follow_the_core_schema),
    cmocka_unit_test(test_objects),
    cmocka_unit_test(test_what_json_cannot_say_is_refused),
    cmocka_unit_test(test_depth_and_size_are_bounded),
};

CW_TESTS_MAIN(tests)
