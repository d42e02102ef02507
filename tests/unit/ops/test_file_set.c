/* SPDX-License-Identifier: Apache-2.0 */
/* Files of sources: bounded descriptors under many threads, and files that change after they were found. */
#include "support/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ops/source/file_set.h"

enum { FILES = 100, THREADS = 4, ROUNDS = 2000 };

static char folder[64];

static char *path_of(size_t i)
{
    return cw_mem_printf("%s/f%03zu", folder, i);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/cw_test_files_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < FILES; i++) {
        cw_autofree char *path = path_of(i);
        char text[16];
        snprintf(text, sizeof(text), "file %03zu", i);
        write_file(path, text);
    }
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < FILES; i++) {
        cw_autofree char *path = path_of(i);
        unlink(path);
    }
    return rmdir(folder);
}

static struct cw_file_set *open_all(const struct cw_value *manifest)
{
    cw_autofree char *pattern = cw_mem_printf("%s/f*", folder);
    struct cw_str_list patterns = {&pattern, 1};
    struct cw_file_set *set = NULL;
    struct cw_err err = {0};
    if (cw_file_set_new(&patterns, &(struct cw_op_open){.manifest = manifest}, &set, &err) < 0)
        fail_msg("%s", err.msg);
    return set;
}

struct reader {
    struct cw_thread thread;
    struct cw_file_set *set;
    uint64_t id;
    int bad;
};

static void read_files(void *arg)
{
    struct reader *r = arg;
    for (uint64_t k = 0; k < ROUNDS; k++) {
        size_t i = (size_t)((k * 7919 + r->id * 31) % FILES);
        struct cw_file_use use;
        struct cw_err err = {0};
        char got[9] = "", want[16];
        snprintf(want, sizeof(want), "file %03zu", i);
        if (cw_file_set_use(r->set, i, &use, &err) < 0) {
            r->bad++;
            continue;
        }
        if (cw_readable_get(&use.readable, 0, got, 8, &err) < 0 || strcmp(got, want) != 0)
            r->bad++;
        cw_file_set_release(r->set, &use);
    }
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void threads_share_few_descriptors(void **state)
{
    struct reader readers[THREADS];
    size_t before = open_descriptors();
    struct cw_file_set *set = open_all(NULL);
    (void)state;
    assert_int_equal(set->n, FILES);
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.set = set, .id = i};
        cw_thread_start(&readers[i].thread, "reader", read_files, &readers[i]);
    }
    for (size_t i = 0; i < THREADS; i++) {
        cw_thread_join(&readers[i].thread);
        assert_int_equal(readers[i].bad, 0);
    }
    assert_true(open_descriptors() - before <= CW_FILE_SET_OPEN_MAX);
    cw_file_set_free(set);
    assert_int_equal(open_descriptors(), before);
}

static void positions(void **state)
{
    struct cw_file_set *set = open_all(NULL);
    (void)state;
    for (size_t i = 0; i < FILES; i++)
        set->v[i].records = (int64_t)(i % 3); /* 0, 1, 2, 0, ... */
    assert_int_equal(cw_file_set_sum(set, NULL), 0);
    assert_int_equal(set->records, 99);
    for (int64_t pos = 0; pos < set->records; pos++) {
        const struct cw_file *file = &set->v[cw_file_set_locate(set, pos)];
        assert_true(pos >= file->first && pos < file->first + file->records);
    }
    set->v[0].records = set->v[1].records = INT64_MAX;
    assert_true(cw_file_set_sum(set, NULL) < 0);
    cw_file_set_free(set);
}

static void use_fails_with(struct cw_file_set *set, size_t i, const char *what)
{
    struct cw_file_use use;
    struct cw_err err = {0};
    assert_true(cw_file_set_use(set, i, &use, &err) < 0);
    if (!strstr(err.msg, what) || !strstr(err.msg, set->v[i].path))
        fail_msg("%s", err.msg);
}

static void changed_files_are_refused(void **state)
{
    struct cw_value manifest = {0};
    struct cw_file_set *first = open_all(NULL);
    (void)state;
    for (size_t i = 0; i < first->n; i++)
        first->v[i].records = (int64_t)i;
    cw_file_set_manifest(first, &manifest);
    struct cw_file_set *set = open_all(&manifest);
    cw_autofree char *longer = path_of(5), *other_time = path_of(6), *gone = path_of(7);
    struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    write_file(longer, "something longer");
    assert_int_equal(utimensat(AT_FDCWD, other_time, old, 0), 0);
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(set->n, FILES);
    assert_int_equal(set->v[50].records, 50);
    assert_string_equal(set->v[5].path, longer);
    use_fails_with(set, 5, "changed while it is read: it had 8 bytes when the job was prepared, now it has 16");
    use_fails_with(set, 6, "another time of change");
    use_fails_with(set, 7, "No such file");
    write_file(gone, "file 007");
    cw_file_set_free(set);
    cw_file_set_free(first);
    cw_value_fini(&manifest);
}

static void bad_manifests(void **state)
{
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "{\"files\":[]}",
                                        "{\"files\":{}}",
                                        "{\"files\":[1]}",
                                        "{\"files\":[[\"a\",1,2]]}",
                                        "{\"files\":[[\"a\",-1,2,3]]}",
                                        "{\"files\":[[\"a\",1,2,-3]]}",
                                        "{\"files\":[[1,1,2,3]]}",
                                        "{\"files\":[[\"a\",1,2,3],[\"a\",1.5,2,3]]}"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        struct cw_value manifest = {0};
        struct cw_file_set *set = NULL;
        struct cw_str_list none = {NULL, 0};
        struct cw_err err = {0};
        assert_int_equal(cw_value_parse(texts[i], strlen(texts[i]), "manifest", &manifest, &err), 0);
        assert_int_equal(cw_file_set_new(&none, &(struct cw_op_open){.manifest = &manifest}, &set, &err), CW_E_CORRUPT);
        assert_null(set);
        cw_value_fini(&manifest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_few_descriptors), cmocka_unit_test(positions),
                                       cmocka_unit_test(bad_manifests), cmocka_unit_test(changed_files_are_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
