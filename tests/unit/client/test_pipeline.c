/* SPDX-License-Identifier: Apache-2.0 */
/* The builder makes the same graph as the text; errors stick and name what was wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "cachew/cachew.h"

static void test_builder_equals_text(void **arg)
{
    (void)arg;
    static const char text[] =
        "{\"name\": \"p\", \"pipeline\": ["
        "{\"op\": \"range\", \"name\": \"r\", \"start\": 1, \"stop\": 10},"
        "{\"op\": \"range\", \"name\": \"q\", \"inputs\": [], \"stop\": 9},"
        "{\"op\": \"zip\", \"inputs\": [\"r\", \"q\"]},"
        "{\"op\": \"eval\", \"expr\": \"x + 1\", \"fields\": [\"value\"], \"keep_position\": true},"
        "{\"op\": \"normalize\", \"mean\": [0.5, 1.5], \"deep\": {\"a\": [true, null]}},"
        "{\"op\": \"batch\", \"size\": 3, \"drop_remainder\": true, \"list\": [1, 2], \"words\": "
        "[\"a\", \"b\"], \"f\": 2.5,"
        " \"depends_on\": [\"r\"]}]}";
    static const double mean[] = {0.5, 1.5};
    static const int64_t list[] = {1, 2};
    static const char *const words[] = {"a", "b"};
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *built = NULL, *parsed = NULL;
    struct cachew_builder *b = cachew_builder_new("p");
    cachew_add(b, "range");
    cachew_set_name(b, "r");
    cachew_set_i64(b, "start", 7);
    cachew_set_i64(b, "start", 1); /* the last one counts */
    cachew_set_i64(b, "stop", 10);
    cachew_add(b, "range");
    cachew_set_name(b, "q");
    cachew_add_input(b, NULL);
    cachew_set_i64(b, "stop", 9);
    cachew_add(b, "zip");
    cachew_add_input(b, "r");
    cachew_add_input(b, "q");
    cachew_add(b, "eval");
    cachew_set_str(b, "expr", "x + 1");
    cachew_add_field(b, "value");
    cachew_set_keep_position(b);
    cachew_add(b, "normalize");
    cachew_set_f64s(b, "mean", mean, 2);
    cachew_set_json(b, "deep", "{\"a\": [true, null]}");
    cachew_add(b, "batch");
    cachew_set_i64(b, "size", 3);
    cachew_set_bool(b, "drop_remainder", 1);
    cachew_set_i64s(b, "list", list, 2);
    cachew_set_strs(b, "words", words, 2);
    cachew_set_f64(b, "f", 2.5);
    cachew_add_depends_on(b, "r");
    int rc = cachew_builder_finish(b, &built, &error);
    if (rc != 0)
        fail_msg("%s", error.message);
    rc = cachew_pipeline_parse(text, strlen(text), &parsed, &error);
    if (rc != 0)
        fail_msg("%s", error.message);
    char *a = cachew_pipeline_text(built), *c = cachew_pipeline_text(parsed);
    assert_string_equal(a, c);
    free(a);
    free(c);
    cachew_pipeline_release(built);
    cachew_pipeline_release(parsed);
}

static void test_errors(void **arg)
{
    (void)arg;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_builder *b = cachew_builder_new(NULL);
    cachew_set_i64(b, "size", 3);
    cachew_add(b, "range");
    assert_int_equal(cachew_builder_finish(b, &pipeline, &error), CACHEW_E_INVALID);
    assert_non_null(strstr(error.message, "before cachew_add"));

    b = cachew_builder_new("p");
    cachew_add(b, "range");
    cachew_set_json(b, "stop", "[1,");
    cachew_set_str(b, "x", NULL);
    assert_true(cachew_builder_finish(b, &pipeline, &error) < 0);
    assert_non_null(strstr(error.message, "range"));

    b = cachew_builder_new("p");
    cachew_add(b, "range");
    cachew_add(b, "batch");
    cachew_add_input(b, "nobody");
    assert_true(cachew_builder_finish(b, &pipeline, &error) < 0);
    assert_non_null(strstr(error.message, "nobody"));

    assert_true(cachew_pipeline_load("/nonexistent/p.json", &pipeline, &error) < 0);
    assert_non_null(strstr(error.message, "/nonexistent/p.json"));
    assert_true(cachew_pipeline_parse("{", 1, &pipeline, NULL) < 0);
    cachew_pipeline_release(NULL);
    cachew_builder_free(NULL);
    assert_null(cachew_pipeline_text(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_builder_equals_text),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
