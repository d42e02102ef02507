/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/brace.h"

static void gives(const char *pattern, const char *want)
{
    struct cw_paths texts = {0};
    struct cw_err err = {0};
    CW_STR_AUTO got = {0};
    if (cw_brace_expand(pattern, &texts, &err) < 0)
        fail_msg("%s: %s", pattern, err.msg);
    for (size_t i = 0; i < texts.n; i++)
        cw_str_addf(&got, "%s%s", i ? " " : "", texts.v[i]);
    assert_string_equal(cw_str_text(&got), want);
    cw_paths_fini(&texts);
}

/* What bash gives, except for letters (a..e), which stay as they are. */
static void groups(void **state)
{
    (void)state;
    gives("a", "a");
    gives("a{b,c}d", "abd acd");
    gives("{a,b}{1,2}", "a1 a2 b1 b2");
    gives("{,x}y", "y xy");
    gives("{a,b{1,2},c}", "a b1 b2 c");
    gives("{{a,b},{c,d}}", "a b c d");
    gives("x{{1..2},5}", "x1 x2 x5");
    gives("{8..11}", "8 9 10 11");
    gives("{08..11}", "08 09 10 11");
    gives("{8..011}", "008 009 010 011");
    gives("{000..2}.tar", "000.tar 001.tar 002.tar");
    gives("{2..0}", "2 1 0");
    gives("{-1..1}", "-1 0 1");
    gives("{-01..1}", "-01 000 001");
    gives("{0..10..5}", "0 5 10");
    gives("{10..0..-5}", "10 5 0");
    gives("{0..9..4}", "0 4 8");
    gives("{7..7}", "7");
}

static void no_groups(void **state)
{
    (void)state;
    gives("{a}", "{a}");
    gives("{}", "{}");
    gives("{a,b", "{a,b");
    gives("a,b}", "a,b}");
    gives("{{a,b}", "{a {b");
    gives("x{a{b,c}}", "x{ab} x{ac}");
    gives("{1..}", "{1..}");
    gives("{..2}", "{..2}");
    gives("{1...2}", "{1...2}");
    gives("{1..2..0}", "{1..2..0}");
    gives("{1..2..1..1}", "{1..2..1..1}");
    gives("{1..9999999999999999999}", "{1..9999999999999999999}");
    gives("\\{a,b\\}", "\\{a,b\\}");
    gives("{a\\,b}", "{a\\,b}");
    gives("{a\\,b,c}", "a\\,b c");
    gives("{a\\},b}", "a\\} b");
    gives("{\\\\,b}", "\\\\ b");
    gives("{a,b}\\", "a\\ b\\");
}

static void refuses(const char *pattern)
{
    struct cw_paths texts = {0};
    struct cw_err err = {0};
    assert_int_equal(cw_brace_expand(pattern, &texts, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "braces"));
    assert_true(texts.n <= CW_BRACE_TEXTS_MAX);
    cw_paths_fini(&texts);
}

static void limits(void **state)
{
    CW_STR_AUTO nested = {0}, open = {0}, product = {0};
    struct cw_paths texts = {0};
    (void)state;
    assert_int_equal(cw_brace_expand("{1..1048576}", &texts, NULL), 0);
    assert_int_equal(texts.n, CW_BRACE_TEXTS_MAX);
    assert_string_equal(texts.v[texts.n - 1], "1048576");
    cw_paths_fini(&texts);
    refuses("{1..1048577}");
    refuses("{0..999999999999999999}");
    refuses("{-999999999999999999..999999999999999999}");
    refuses("{1..1024}{1..1024}{1,2}");
    /* groups that are none, in many texts */
    cw_str_add(&open, "{1..1000000}");
    for (int i = 0; i < 8000; i++)
        cw_str_add(&open, "{");
    refuses(cw_str_text(&open));
    /* long texts, many times */
    for (int i = 0; i < 15000; i++)
        cw_str_add(&product, "x");
    cw_str_add(&product, "{1..1000000}");
    refuses(cw_str_text(&product));
    for (size_t i = 0; i <= CW_BRACE_PATTERN_BYTES_MAX; i++)
        cw_str_add(&nested, "{");
    refuses(cw_str_text(&nested));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),
        cmocka_unit_test(no_groups),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
