/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of the program become files, once, and sources that read them. What workers read of them is compared
 * in integration.python.arrays. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cachew/cachew.h"
#include "support/cm.h"

static char directory[64];
static const float six[] = {1, 2, 3, 4, 5, 6};

static int make_directory(void **unused)
{
    (void)unused;
    snprintf(directory, sizeof(directory), "/tmp/cachew-arrays-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return 0;
}

static void remove_files(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        cw_autofree char *name = cw_mem_printf("%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && unlink(name) < 0)
            remove_files(name);
    }
    closedir(dir);
    rmdir(path);
}

static int remove_directory(void **unused)
{
    (void)unused;
    remove_files(directory);
    return 0;
}

static size_t entries(const char *path)
{
    size_t n = 0;
    DIR *dir = opendir(path);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static struct cachew_tensor floats(const char *name, int64_t rows)
{
    return (struct cachew_tensor){.name = name,
                                  .dtype = CACHEW_F32,
                                  .rank = 2,
                                  .dims = {rows, 6 / rows},
                                  .data = six,
                                  .bytes = sizeof(six)};
}

static struct cachew_tensor strings(void)
{
    static const int64_t offsets[] = {0, 1, 1, 4};
    return (struct cachew_tensor){.name = "word",
                                  .dtype = CACHEW_STR,
                                  .rank = 1,
                                  .dims = {3},
                                  .data = "abcd",
                                  .bytes = 4,
                                  .offsets = offsets};
}

static char *write_array(const struct cachew_tensor *array, const char *op)
{
    const char *found = NULL;
    char *pattern = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    if (cachew_array_write(array, directory, &found, &pattern, &error) != 0)
        fail_msg("%s", error.message);
    assert_string_equal(found, op);
    return pattern;
}

static void an_array_is_a_npy_file(void **unused)
{
    static const char head[] =
        "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2,), }";
    const struct cachew_tensor array = floats("x", 3);
    char bytes[256] = {0};
    struct stat before, after;
    (void)unused;
    char *path = write_array(&array, "npy");
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), 128 + sizeof(six));
    close(fd);
    assert_memory_equal(bytes, head, sizeof(head) - 1);
    assert_int_equal(bytes[127], '\n');
    assert_memory_equal(bytes + 128, six, sizeof(six));
    /* it is there: not written again, whatever the field is called */
    assert_int_equal(stat(path, &before), 0);
    const struct cachew_tensor same = floats("other", 3);
    char *again = write_array(&same, "npy");
    assert_string_equal(path, again);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    free(again);
    /* the same bytes in another shape are another array */
    const struct cachew_tensor turned = floats("x", 2);
    again = write_array(&turned, "npy");
    assert_string_not_equal(path, again);
    free(again);
    free(path);
    assert_int_equal(entries(directory), 2);
}

static void strings_are_chunks(void **unused)
{
    const struct cachew_tensor array = strings();
    (void)unused;
    char *pattern = write_array(&array, "chunks");
    assert_string_equal(pattern + strlen(pattern) - strlen(".chunks/*.chunk"), ".chunks/*.chunk");
    pattern[strlen(pattern) - strlen("/*.chunk")] = '\0';
    assert_int_equal(entries(pattern), 1);
    assert_int_equal(entries(directory), 1);
    free(pattern);
}

static void a_builder_has_sources_of_arrays(void **unused)
{
    const struct cachew_tensor arrays[] = {floats("x", 3), strings()};
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_builder *b = cachew_builder_new("p");
    (void)unused;
    cachew_add_arrays(b, arrays, 2, directory);
    cachew_add(b, "shuffle");
    if (cachew_builder_finish(b, &pipeline, &error) != 0)
        fail_msg("%s", error.message);
    char *text = cachew_pipeline_text(pipeline);
    assert_non_null(strstr(text, "\"op\": \"npy\""));
    assert_non_null(strstr(text, "\"field\": \"x\""));
    assert_non_null(strstr(text, "\"op\": \"zip\""));
    assert_non_null(strstr(text, "\"inputs\": [\"x:0\", \"word:1\"]"));
    free(text);
    cachew_pipeline_release(pipeline);
}

static void expect_builder_error(const struct cachew_tensor *arrays, size_t n, const char *where,
                                 int code, const char *words)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_builder *b = cachew_builder_new(NULL);
    cachew_add_arrays(b, arrays, n, where);
    assert_int_equal(cachew_builder_finish(b, &pipeline, &error), code);
    if (!strstr(error.message, words))
        fail_msg("\"%s\" is not in \"%s\"", words, error.message);
}

static void what_is_no_array_is_told(void **unused)
{
    static const int64_t falling[] = {0, 3, 1, 4}, beyond[] = {0, 1, 2, 5};
    struct cachew_tensor arrays[] = {floats("x", 3), floats("y", 2)};
    (void)unused;
    expect_builder_error(arrays, 0, directory, CACHEW_E_INVALID, "no array");
    expect_builder_error(arrays, 2, directory, CACHEW_E_INVALID,
                         "array y has 2 rows, and array x has 3");
    arrays[0].bytes--;
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "array x: its bytes");
    arrays[0] = floats("", 3);
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "a name has 1 to 47 bytes");
    arrays[0] = floats("x", 3);
    arrays[0].rank = 0;
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "array x: has no rows");
    arrays[0] = floats("x", 3);
    arrays[0].dims[0] = INT64_MAX;
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "array x: its dimensions");
    arrays[0] = floats("x", 3);
    arrays[0].dtype = (enum cachew_dtype)77;
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "array x: its type");
    arrays[0] = strings();
    arrays[0].offsets = falling;
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "array word: its offsets");
    arrays[0].offsets = beyond;
    expect_builder_error(arrays, 1, directory, CACHEW_E_INVALID, "array word: its offsets");
    arrays[0] = floats("x", 3);
    expect_builder_error(arrays, 1, "/proc/no", CACHEW_E_NOT_FOUND, "/proc/no");
    assert_int_equal(entries(directory), 0);
}

static void a_directory_may_be_a_pattern(void **unused)
{
    const struct cachew_tensor array = floats("x", 3);
    const char *op = NULL;
    char *pattern = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    cw_autofree char *odd = cw_mem_printf("%s/[a]*", directory);
    (void)unused;
    assert_int_equal(cachew_array_write(&array, odd, &op, &pattern, &error), 0);
    assert_non_null(strstr(pattern, "/\\[a]\\*/"));
    free(pattern);
    assert_int_equal(entries(odd), 1);
}

static void the_environment_says_where(void **unused)
{
    const struct cachew_tensor array = floats("x", 3);
    const char *op = NULL;
    char *pattern = NULL;
    struct stat st;
    (void)unused;
    unsetenv("CACHEW_ARRAY_DIR");
    setenv("XDG_CACHE_HOME", directory, 1);
    assert_int_equal(cachew_array_write(&array, NULL, &op, &pattern, NULL), 0);
    free(pattern);
    cw_autofree char *own = cw_mem_printf("%s/cachew/arrays", directory);
    assert_int_equal(entries(own), 1);
    assert_int_equal(stat(own, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    setenv("CACHEW_ARRAY_DIR", own, 1);
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(cachew_array_write(&array, NULL, &op, &pattern, NULL), 0);
    free(pattern);
    assert_int_equal(entries(own), 1);
    unsetenv("CACHEW_ARRAY_DIR");
    unsetenv("HOME");
    assert_int_equal(cachew_array_write(&array, NULL, &op, &pattern, NULL), CACHEW_E_INVALID);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        CASE(an_array_is_a_npy_file),          CASE(strings_are_chunks),
        CASE(a_builder_has_sources_of_arrays), CASE(what_is_no_array_is_told),
        CASE(a_directory_may_be_a_pattern),    CASE(the_environment_says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
