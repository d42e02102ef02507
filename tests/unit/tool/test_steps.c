/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "client/tool/steps.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)

static void a_step_holds_until_the_next(void **state)
{
    (void)state;
    struct tool_steps steps;
    assert_int_equal(tool_steps_parse("200,100@20s,50@60500ms", &steps, NULL), 0);
    assert_int_equal(tool_steps_at(&steps, 0), 200 * MS);
    assert_int_equal(tool_steps_at(&steps, 20 * S - 1), 200 * MS);
    assert_int_equal(tool_steps_at(&steps, 20 * S), 100 * MS);
    assert_int_equal(tool_steps_at(&steps, 60 * S), 100 * MS);
    assert_int_equal(tool_steps_at(&steps, 61 * S), 50 * MS);
    assert_int_equal(tool_steps_parse("7", &steps, NULL), 0);
    assert_int_equal(tool_steps_at(&steps, 1000 * S), 7 * MS);
    steps.n = 0;
    assert_int_equal(tool_steps_at(&steps, S), 0);
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const texts[] = {
        "",      "x",     "-1",      "3600001",     "1@1s",        "1,2",    "1,2@",
        "1,2@x", "1,@2s", "1,,2@3s", "1,2@5s,3@5s", "1,2@5s,3@4s", "1,2@1s,"};
    (void)state;
    struct tool_steps steps;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct cw_err err = {0};
        assert_int_equal(tool_steps_parse(texts[i], &steps, &err), CW_E_INVALID);
        assert_non_null(err.msg);
    }
    assert_int_equal(tool_steps_parse("0,1@1s,1@2s,1@3s,1@4s,1@5s,1@6s,1@7s,1@8s,1@9s,1@10s,1@11s,"
                                      "1@12s,1@13s,1@14s,1@15s,1@16s",
                                      &steps, NULL),
                     CW_E_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_holds_until_the_next),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
