/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <string.h>

#include "base/compiler.h"
#include "base/name.h"

static char name[512];

static const char *of_length(size_t n)
{
    memset(name, 'x', n);
    name[n] = '\0';
    return name;
}

static void names_of_jobs(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "train",
                                       "Nr. 7 (größer)",
                                       "\xe6\xa8\xa1\xe5\x9e\x8b",
                                       "a/b\\c:\"d\"",
                                       "\xf0\x9f\x90\x84",
                                       "\xc2\xa0",
                                       " "};
    static const char *const bad[] = {
        "a\nb", "\x7f",      "\x1b[2J",  "\xc2\x85",     "\xc2\x9b",
        "\xff", "half \xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++)
        assert_int_equal(cw_name_check_job(good[i], NULL), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_int_equal(cw_name_check_job(bad[i], NULL), CW_E_INVALID);
    assert_int_equal(cw_name_check_job(of_length(CW_JOB_NAME_MAX), NULL), 0);
    struct cw_err err = {0};
    assert_int_equal(cw_name_check_job(of_length(CW_JOB_NAME_MAX + 1), &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "201 bytes, at most 200"));
    assert_int_equal(cw_name_check_job("half \xc3", &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "UTF-8 from byte 5"));
}

static void names_of_tenants(void **state)
{
    (void)state;
    static const char *const good[] = {"default", "team-a_1.x", "a", "-", "9", "a.."};
    static const char *const bad[] = {".",        "..",  ".x", "a/b", "a b",
                                      "\xc3\xa4", "a\n", "*",  "a:b", "a\x7f"};
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++)
        assert_true(cw_name_check_tenant(good[i], NULL) == 0 &&
                    cw_name_is_tenant(good[i], strlen(good[i])));
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_true(cw_name_check_tenant(bad[i], NULL) == CW_E_INVALID &&
                    !cw_name_is_tenant(bad[i], strlen(bad[i])));
    assert_int_equal(cw_name_check_tenant(of_length(CW_TENANT_NAME_MAX), NULL), 0);
    assert_int_equal(cw_name_check_tenant(of_length(CW_TENANT_NAME_MAX + 1), NULL), CW_E_INVALID);
    assert_int_equal(cw_name_check_tenant("", NULL), 0); /* the default */
    assert_false(cw_name_is_tenant("", 0));
    assert_true(cw_name_is_tenant("team/key", 4)); /* the beginning of a path */
    struct cw_err err = {0};
    assert_int_equal(cw_name_check_tenant("te\nxt", &err), CW_E_INVALID);
    assert_string_equal(err.msg, "\"te\\nxt\" is no name of a tenant: letters, digits, '.', '_', "
                                 "'-', at most 64, no '.' first");
}

static void names_of_pods(void **state)
{
    (void)state;
    static const char *const good[] = {"cachew-worker-7f9-x2", "node8.example", "a", "5B1e_77"};
    static const char *const bad[] = {"", "a b", "a/b", "a\n", "\x1b[2J", "\xc3\xa4", "a:1"};
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++)
        assert_true(cw_name_is_pod(good[i]));
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_false(cw_name_is_pod(bad[i]));
    assert_true(cw_name_is_pod(of_length(CW_POD_NAME_MAX)));
    assert_false(cw_name_is_pod(of_length(CW_POD_NAME_MAX + 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_jobs),
                                       cmocka_unit_test(names_of_tenants),
                                       cmocka_unit_test(names_of_pods)};
    return cmocka_run_group_tests_name("base_name", tests, NULL, NULL);
}
