/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files and folders that stand for what is below them (cw_io_glob_tree), also with braces. */
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "support/cm.h"

static char root[64];

static const char *const folders[] = {"one", "one/deep", "two", "odd{x,y}", "oddx", "br[a]c"};
static const char *const files[] = {"one/a",      "one/deep/b", "two/c", "odd{x,y}/d",
                                    "oddx/wrong", "br[a]c/e",   "file",  "file{1,2}"};

static int begin(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/cw_test_tree_XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < CW_ARRAY_LEN(folders); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", root, files[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fclose(file);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", root, files[i]);
        unlink(path);
    }
    for (size_t i = CW_ARRAY_LEN(folders); i-- > 0;) {
        cw_autofree char *path = cw_mem_printf("%s/%s", root, folders[i]);
        rmdir(path);
    }
    return rmdir(root);
}

static void trees(void **state)
{
    static const struct {
        const char *pattern, *found; /* found: names, in order; or the error */
        int rc;
    } cases[] = {
        {"one", "one/a one/deep/b", 0},
        {"one/", "one/a one/deep/b", 0},
        {"file", "file", 0},
        {"one/*", "one/a", 0},
        {"{one,two}", "one/a one/deep/b two/c", 0},
        {"{two,file}", "file two/c", 0}, /* a folder and a file */
        {"{one/deep,two}", "one/deep/b two/c", 0},
        {"odd{x,y}", "odd{x,y}/d", 0}, /* it is there, so its braces are those of its name */
        {"odd\\{x,y}", "odd{x,y}/d", 0},
        {"file{1,2}", "file{1,2}", 0},
        {"br\\[a]c", "br[a]c/e", 0},
        {"{one,three}", "three", CW_E_NOT_FOUND},
        {"three", "three", CW_E_NOT_FOUND},
        {"th*", "", 0}, /* (who asks says that nothing matches) */
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        cw_autofree char *pattern = cw_mem_printf("%s/%s", root, cases[i].pattern);
        struct cw_io_list list = {0};
        struct cw_err err = {0};
        CW_STR_AUTO found = {0};
        int rc = cw_io_glob_tree(pattern, 0, NULL, &list, &err);
        cw_io_list_sort(&list);
        for (size_t k = 0; k < list.n; k++)
            cw_str_addf(&found, "%s%s", k > 0 ? " " : "", list.v[k].url + strlen(root) + 1);
        if (rc != cases[i].rc || (rc == 0 ? !cw_str_eq(cw_str_text(&found), cases[i].found)
                                          : !strstr(err.msg, cases[i].found)))
            fail_msg("%s: %d %s, %s", cases[i].pattern, rc, err.msg, cw_str_text(&found));
        cw_io_list_fini(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(trees, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
