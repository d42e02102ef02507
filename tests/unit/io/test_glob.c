/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/glob.h"

static char folder[64];

static const char *const dirs[] = {"a", "a/b", "a/b/c", "a/.hidden", "d", "empty"};
static const char *const files[] = {
    "1.jpg",           "2.png",    "a/3.jpg", "a/b/4.jpg", "a/b/c/5.jpg", "a/b/c/x[1].jpg",
    "a/.hidden/6.jpg", "a/.7.jpg", "d/8.JPG", "d/9.jpg",   "e{0}",        "f{0,1}"};

static char *in_folder(const char *name)
{
    return cw_mem_printf("%s/%s", folder, name);
}

static int make_tree(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/cw_test_glob_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < CW_ARRAY_LEN(dirs); i++) {
        cw_autofree char *path = in_folder(dirs[i]);
        if (mkdir(path, 0700) < 0)
            return -1;
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *path = in_folder(files[i]);
        close(open(path, O_WRONLY | O_CREAT, 0600));
    }
    cw_autofree char *loop = in_folder("a/b/up"), *link = in_folder("d/link.jpg"),
                     *broken = in_folder("d/broken.jpg");
    cw_autofree char *pipe = in_folder("d/pipe.jpg");
    return symlink("../..", loop) | symlink("../1.jpg", link) | symlink("nowhere", broken) |
           mkfifo(pipe, 0600);
}

static int remove_tree(void **state)
{
    static const char *const more[] = {"a/b/up", "d/link.jpg", "d/broken.jpg", "d/pipe.jpg"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(more); i++) {
        cw_autofree char *path = in_folder(more[i]);
        unlink(path);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *path = in_folder(files[i]);
        unlink(path);
    }
    for (size_t i = CW_ARRAY_LEN(dirs); i-- > 0;) {
        cw_autofree char *path = in_folder(dirs[i]);
        rmdir(path);
    }
    return rmdir(folder);
}

/* What matches, as one line, paths below the folder. */
static void matches(const char *pattern, const char *want)
{
    cw_autofree char *full = in_folder(pattern);
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    CW_STR_AUTO got = {0};
    if (cw_glob(full, 0, NULL, &paths, &err) < 0)
        fail_msg("%s: %s", pattern, err.msg);
    cw_paths_sort(&paths);
    for (size_t i = 0; i < paths.n; i++)
        cw_str_addf(&got, "%s%s", i ? " " : "", paths.v[i] + strlen(folder) + 1);
    assert_string_equal(cw_str_text(&got), want);
    cw_paths_fini(&paths);
}

static void patterns(void **state)
{
    (void)state;
    matches("*.jpg", "1.jpg");
    matches("?.*", "1.jpg 2.png");
    matches("[!1].*", "2.png");
    matches("*/*.jpg", "a/3.jpg d/9.jpg d/link.jpg");
    matches("*/*.[jJ][pP][gG]", "a/3.jpg d/8.JPG d/9.jpg d/link.jpg");
    matches("a/.*.jpg", "a/.7.jpg");
    matches("a/.hidden/*", "a/.hidden/6.jpg");
    matches("none*", "");
    matches("*/none", "");
    matches("1.jpg/*", "");
    matches("*.jpg/*", "");
    matches("a//b///4.jpg", "a//b///4.jpg");
    matches("a//b///*.jpg", "a/b/4.jpg");
    matches("a/b/c/x[1].jpg", "a/b/c/x[1].jpg");
    matches("a/b/c/x\\[1\\].jp*", "a/b/c/x[1].jpg");
}

static void braces(void **state)
{
    (void)state;
    matches("{1.jpg,2.png}", "1.jpg 2.png");
    matches("{1.jpg,1.*}", "1.jpg");
    matches("a/{3..3}.jpg", "a/3.jpg");
    matches("{a,d,none}/*.jpg", "a/3.jpg d/9.jpg d/link.jpg");
    matches("a/{b/c,b}/*.jpg", "a/b/4.jpg a/b/c/5.jpg a/b/c/x[1].jpg");
    matches("**/{3,5}.jp*", "a/3.jpg a/b/c/5.jpg");
    matches("e{0}", "e{0}");
    matches("e{0}*", "e{0}");
    matches("{e{0},1.jpg}", "1.jpg e{0}");
    matches("f{0,1}", "f{0,1}"); /* a file of that very name */
    matches("f\\{0,1\\}", "f{0,1}");
}

static void any_depth(void **state)
{
    (void)state;
    matches("**/*.jpg", "1.jpg a/3.jpg a/b/4.jpg a/b/c/5.jpg a/b/c/x[1].jpg d/9.jpg d/link.jpg");
    matches("a/**/5.jpg", "a/b/c/5.jpg");
    matches("**/b/**/*.jpg", "a/b/4.jpg a/b/c/5.jpg a/b/c/x[1].jpg");
    matches("**/**/**/4.jpg", "a/b/4.jpg");
    matches("a/**", "a/3.jpg a/b/4.jpg a/b/c/5.jpg a/b/c/x[1].jpg");
    matches("a/**/", "a/3.jpg a/b/4.jpg a/b/c/5.jpg a/b/c/x[1].jpg");
    matches("**/b/**/c/*.jpg", "a/b/c/5.jpg a/b/c/x[1].jpg");
    matches("**/*/**/5.jpg",
            "a/b/c/5.jpg a/b/up/a/b/c/5.jpg"); /* a link is followed by a name or *, not by ** */
    matches("*/../1.jp*", "a/../1.jpg d/../1.jpg empty/../1.jpg");
    matches("a/**/.hidden/*.jpg", "a/.hidden/6.jpg");
    matches("a/b/up/*.jpg", "a/b/up/1.jpg"); /* a link may be named */
    matches("empty/**", "");
}

static void fails(const char *pattern, const char *want)
{
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    assert_true(cw_glob(pattern, 0, NULL, &paths, &err) < 0);
    if (!strstr(err.msg, want))
        fail_msg("%s", err.msg);
    cw_paths_fini(&paths);
}

static void errors(void **state)
{
    cw_autofree char *dir = in_folder("a"), *pipe = in_folder("d/pipe.jpg"),
                     *none = in_folder("none.jpg");
    CW_STR_AUTO deep = {0};
    (void)state;
    fails("", "empty");
    fails(dir, "a directory");
    fails(pipe, "not a regular file");
    fails(none, "none.jpg");
    cw_autofree char *missing = in_folder("{1,2}.jpg"), *many = in_folder("{1..2000000}.jpg");
    fails(missing, "2.jpg\": No such file");
    fails(many, "braces stand for too much");
    fails("ftp://host/*.jpg", "its scheme is none");
    for (int i = 0; i < 1000; i++)
        cw_str_add(&deep, "*/");
    fails(cw_str_text(&deep), "components");
}

static void bounded(void **state)
{
    cw_autofree char *all = in_folder("**/*.jpg"), *one = in_folder("1.jpg");
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_glob(all, 10, NULL, &paths, &err), CW_E_LIMIT);
    cw_paths_fini(&paths);
    assert_int_equal(cw_glob(all, 1000, NULL, &paths, &err), 0);
    assert_int_equal(cw_glob(one, 1, NULL, &paths, &err), 0);
    cw_paths_fini(&paths);
    /* what braces stand for counts as well */
    cw_autofree char *ones = in_folder("1.{jpg,jpg,jpg}");
    assert_int_equal(cw_glob(ones, 2, NULL, &paths, &err), CW_E_LIMIT);
    assert_int_equal(cw_glob(ones, 3, NULL, &paths, &err), 0);
    cw_paths_fini(&paths);
}

/* A tree of directories, two in each, and so many of them above each other. */
enum { DEPTH = 6, DIRS_N = (2 << DEPTH) - 1 /* with the root */ };

static void make_dirs(const char *path, int depth, bool remove)
{
    if (!remove)
        assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 2 && depth < DEPTH; i++) {
        cw_autofree char *sub = cw_mem_printf("%s/%d", path, i);
        make_dirs(sub, depth + 1, remove);
    }
    if (remove)
        assert_int_equal(rmdir(path), 0);
}

/* However many ways a pattern has through a tree, each directory is listed once. */
static void linear(void **state)
{
    enum { ENTRIES = DIRS_N - 1 + 2 * DIRS_N /* . and .. */ };
    cw_autofree char *tree = in_folder("tree");
    cw_autofree char *pattern = in_folder("tree/**/*/**/*/**/*/**/1/**/*/**/nothing"),
                     *all = in_folder("tree/**/*/**/1/**");
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    (void)state;
    make_dirs(tree, 0, false);
    int rc = cw_glob(pattern, ENTRIES, NULL, &paths, &err);
    int of_all = cw_glob(all, ENTRIES, NULL, &paths, NULL),
        less = cw_glob(all, ENTRIES - 1, NULL, &paths, NULL);
    make_dirs(tree, 0, true);
    if (rc < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(of_all, 0);
    assert_int_equal(less, CW_E_LIMIT);
    assert_int_equal(paths.n, 0);
    cw_paths_fini(&paths);
}

static void stopped(void **state)
{
    cw_autofree char *all = in_folder("**/*.jpg");
    struct cw_stop stop = {0};
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_glob(all, 0, &stop, &paths, &err), 0);
    assert_int_equal(paths.n, 7);
    cw_paths_fini(&paths);
    cw_stop_set(&stop);
    assert_int_equal(cw_glob(all, 0, &stop, &paths, &err), CW_E_CANCELLED);
    assert_int_equal(paths.n, 0);
    cw_paths_fini(&paths);
}

/* A directory may have millions of entries: the walk ends at the next one. */
static struct cw_stop *stop_at_entry;
static size_t entries_read;

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir)
{
    if (stop_at_entry && ++entries_read == 3)
        cw_stop_set(stop_at_entry);
    return __real_readdir(dir);
}

static void stopped_within_a_directory(void **state)
{
    cw_autofree char *all = in_folder("*");
    struct cw_stop stop = {0};
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    (void)state;
    entries_read = 0;
    stop_at_entry = &stop;
    int rc = cw_glob(all, 0, &stop, &paths, &err);
    stop_at_entry = NULL;
    assert_int_equal(rc, CW_E_CANCELLED);
    assert_int_equal(entries_read, 3);
    cw_paths_fini(&paths);
}

static void relative(void **state)
{
    char here[4096];
    struct cw_paths paths = {0};
    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(cw_glob("**/4.jpg", 0, NULL, &paths, NULL), 0);
    assert_int_equal(cw_glob("*.png", 0, NULL, &paths, NULL), 0);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(paths.n, 2);
    assert_string_equal(paths.v[0], "a/b/4.jpg");
    assert_string_equal(paths.v[1], "2.png");
    cw_paths_fini(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns),
                                       cmocka_unit_test(braces),
                                       cmocka_unit_test(any_depth),
                                       cmocka_unit_test(errors),
                                       cmocka_unit_test(bounded),
                                       cmocka_unit_test(relative),
                                       cmocka_unit_test(linear),
                                       cmocka_unit_test(stopped),
                                       cmocka_unit_test(stopped_within_a_directory)};
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
