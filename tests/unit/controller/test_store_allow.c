/* SPDX-License-Identifier: Apache-2.0 */
/* Which stores a prefix allows. */
#include "controller/store_allow.h"
#include "support/cm.h"

static bool allows(const char *prefix, const char *url)
{
    return cw_store_is_allowed(url, &prefix, 1);
}

static void by_whole_parts(void **state)
{
    (void)state;
    assert_true(allows("gluster://g1/vol", "gluster://g1/vol/team-a/c"));
    assert_true(allows("gluster://g1/vol/", "gluster://g1/vol"));
    assert_true(allows("gluster://g1", "gluster://g1/any/path"));
    assert_true(allows("gluster://g1:24007/vol/a", "gluster://g1/vol/a/b?timeout=5s"));
    assert_false(allows("gluster://g1/vol", "gluster://g10/vol/x"));
    assert_false(allows("gluster://g1/vol", "gluster://g1/vol2/x"));
    assert_false(allows("gluster://g1/vol/a", "gluster://g1/vol/ab"));
    assert_false(allows("gluster://g1/vol", "gluster://g1:24008/vol/x"));
    assert_false(allows("gluster://g1/vol", "dir:/vol/x"));
    assert_true(allows("dir:/mnt/a", "dir:/mnt/a/b"));
    assert_false(allows("dir:/mnt/a", "dir:/mnt/ab"));
}

static void each_server(void **state)
{
    (void)state;
    assert_true(allows("gluster://g1,g2/vol", "gluster://g2,g1/vol/x"));
    assert_true(allows("gluster://g1,g2:1/vol", "gluster://g2:1/vol/x"));
    assert_false(allows("gluster://g1/vol", "gluster://g1,evil/vol/x"));
    assert_false(allows("gluster://g1/vol", "gluster:///vol/x"));
}

static void no_way_out(void **state)
{
    (void)state;
    assert_false(allows("gluster://g1/vol/a", "gluster://g1/vol/a/../b"));
    assert_false(allows("dir:/mnt/a", "dir:/mnt/a/./b"));
    assert_false(allows("dir:/mnt/a", "dir:/mnt/a//b"));
    assert_false(cw_store_is_allowed("dir:/mnt", NULL, 0));
    assert_false(allows("dir:/", "no scheme"));
}

static void several(void **state)
{
    const char *const prefixes[] = {"gluster://g1/a", "gluster://g1/b"};
    (void)state;
    assert_true(cw_store_is_allowed("gluster://g1/b/x", prefixes, 2));
    assert_false(cw_store_is_allowed("gluster://g1/c/x", prefixes, 2));
}

static void what_is_a_prefix(void **state)
{
    static const char *const right[] = {"gluster://g1", "gluster://g1:1,g2/v/p", "dir:/mnt",
                                        "dir:/"};
    static const char *const wrong[] = {"",           "dir",         "dir:mnt",
                                        "gluster://", "dir:/a/../b", "gluster://g/v?timeout=1s"};
    struct cw_err err = {0};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(right); i++)
        assert_int_equal(cw_store_allow_check(right[i], &err), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(wrong); i++)
        assert_int_equal(cw_store_allow_check(wrong[i], &err), CW_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_whole_parts),   cmocka_unit_test(each_server),
        cmocka_unit_test(no_way_out),       cmocka_unit_test(several),
        cmocka_unit_test(what_is_a_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
