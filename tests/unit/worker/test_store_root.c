/* SPDX-License-Identifier: Apache-2.0 */
/* Which URLs of stores are below which roots. */
#include "support/cm.h"

#include <string.h>

#include "worker/cache/store_root.h"

static void test_below(void **state)
{
    static const struct {
        const char *root, *url;
        bool has;
    } rows[] = {
        {"dir:/cache", "dir:/cache", true},
        {"dir:/cache", "dir:/cache/a?map=on", true},
        {"dir:/cache", "dir:/cache?timeout=1s", true},
        {"dir:/cache/", "dir:/cache", true},
        {"dir:/cache", "dir:/cache2", false},
        {"dir:/cache", "dir:/cac", false},
        {"dir:/cache", "dir:/etc", false},
        {"dir:/cache", "dir:/cache/../etc", false},
        {"dir:/cache", "dir:/cache/a/..", false},
        {"dir:/cache", "dir:/cache/..a", true},
        {"dir:/cache", "mem:/cache", false},
        {"dir:", "dir:/anywhere", true},
        {"dir:", "dir:/any/../where", false},
        {"gluster://g1/vol", "gluster://g1/vol/path", true},
        {"gluster://g1/vol", "gluster://g1/volume", false},
        {"mem:", "mem:shared?timeout=300ms", true},
        {"", "dir:/cache", false},
        {"/", "dir:/cache", false},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        if (cw_store_root_has(rows[i].root, rows[i].url) != rows[i].has)
            fail_msg("%s of %s", rows[i].url, rows[i].root);
}

static void test_check(void **state)
{
    const struct cw_arg_list none = {.n = 0}, two = {.v = {"mem:", "dir:/a"}, .n = 2};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_store_root_check(&none, "127.0.0.1:7070", "dir:/etc", &err), 0);
    assert_int_equal(cw_store_root_check(&none, "unix:/run/d", "dir:/etc", &err), 0);
    assert_int_equal(cw_store_root_check(&none, "node1:7070", "dir:/etc", &err), CW_E_DENIED);
    assert_non_null(strstr(err.msg, "--store-root"));
    assert_non_null(strstr(err.msg, "dir:/etc"));
    assert_int_equal(cw_store_root_check(&two, "node1:7070", "dir:/a/b", &err), 0);
    assert_int_equal(cw_store_root_check(&two, "127.0.0.1:7070", "dir:/etc", &err), CW_E_DENIED);
    assert_non_null(strstr(err.msg, "--store-root"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_below), cmocka_unit_test(test_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
