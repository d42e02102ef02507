/* SPDX-License-Identifier: Apache-2.0 */
/* Files of sources: bounded descriptors under many threads, and files that change after they
 * were found. */
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

static struct cw_file_set *open_by(const struct cw_value *manifest, enum cw_identity identity)
{
    cw_autofree char *pattern = cw_mem_printf("%s/f*", folder);
    struct cw_str_list patterns = {&pattern, 1};
    const struct cw_op_open how = {.manifest = manifest, .identity = identity};
    struct cw_file_set *set = NULL;
    struct cw_err err = {0};
    if (cw_file_set_new(&patterns, cw_io_glob, &how, &set, &err) < 0)
        fail_msg("%s", err.msg);
    return set;
}

static struct cw_file_set *open_all(const struct cw_value *manifest)
{
    return open_by(manifest, CW_IDENTITY_MTIME);
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
    assert_int_equal(cw_file_set_use(set, i, &use, &err), CW_E_OTHER_FILE);
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
    use_fails_with(
        set, 5,
        "not the file that the job was prepared with: it had 8 bytes then, here and now it has 16");
    use_fails_with(set, 6, "its time of change is another one");
    use_fails_with(set, 7, "it does not exist here");
    write_file(gone, "file 007");
    cw_file_set_free(set);
    cw_file_set_free(first);
    cw_value_fini(&manifest);
}

static void set_time(const char *path, time_t at)
{
    const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void use_works(struct cw_file_set *set, size_t i)
{
    struct cw_file_use use;
    struct cw_err err = {0};
    if (cw_file_set_use(set, i, &use, &err) < 0)
        fail_msg("%s", err.msg);
    cw_file_set_release(set, &use);
}

/* A copy with another time, and other bytes with the same size and time: by each identity,
 * through a manifest. */
static void identities(void **state)
{
    static const bool touched_is_same[] = {false, true, true, true},
                      changed_is_same[] = {true, true, false, false};
    cw_autofree char *touched = path_of(1), *changed = path_of(2);
    (void)state;
    for (int id = 0; id < CW_IDENTITY_N; id++) {
        struct cw_value manifest = {0}, again = {0};
        struct cw_err err = {0};
        set_time(touched, 1000000);
        set_time(changed, 1000000);
        struct cw_file_set *first = open_by(NULL, (enum cw_identity)id);
        cw_file_set_manifest(first, &manifest);
        struct cw_file_set *set = open_by(&manifest, (enum cw_identity)id);
        cw_file_set_manifest(set, &again);
        assert_true(cw_value_eq(&manifest, &again));
        assert_int_equal(cw_file_set_compare(set, &err), 0);
        set_time(touched, 2000000);
        write_file(changed, "file 0O2");
        set_time(changed, 1000000);
        int rc = cw_file_set_compare(set, &err);
        assert_int_equal(rc, touched_is_same[id] && changed_is_same[id] ? 0 : CW_E_OTHER_FILE);
        if (touched_is_same[id])
            use_works(set, 1);
        else
            use_fails_with(set, 1, "its time of change is another one (by +1000000 s)");
        if (changed_is_same[id])
            use_works(set, 2);
        else
            use_fails_with(set, 2, "its bytes are others");
        use_works(set, 3);
        write_file(changed, "file 002");
        cw_file_set_free(set);
        cw_file_set_free(first);
        cw_value_fini(&manifest);
        cw_value_fini(&again);
    }
}

/* What another identity's manifest says cannot be compared: whoever made it did not do what the
 * job asks for. */
static void other_identity(void **state)
{
    struct cw_value manifest = {0};
    struct cw_file_set *first = open_by(NULL, CW_IDENTITY_CONTENT), *set = NULL;
    const struct cw_op_open how = {.manifest = &manifest, .identity = CW_IDENTITY_SAMPLE};
    struct cw_str_list none = {NULL, 0};
    struct cw_err err = {0};
    (void)state;
    cw_file_set_manifest(first, &manifest);
    assert_int_equal(cw_file_set_new(&none, cw_io_glob, &how, &set, &err), CW_E_CORRUPT);
    assert_non_null(strstr(err.msg, "identity content"));
    assert_null(set);
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
                                        "{\"files\":[[\"a\",1,2,3],[\"a\",1.5,2,3]]}",
                                        "{\"files\":[[\"a\",1,\"2\",3]]}",
                                        "{\"files\":[[\"a\",1,0,3]],\"identity\":\"size\"}",
                                        "{\"files\":[[\"a\",1,2,3]],\"identity\":\"color\"}",
                                        "{\"files\":[[\"a\",1,2,3]],\"identity\":1}"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        struct cw_value manifest = {0};
        struct cw_file_set *set = NULL;
        struct cw_str_list none = {NULL, 0};
        struct cw_err err = {0};
        assert_int_equal(cw_value_parse(texts[i], strlen(texts[i]), "manifest", &manifest, &err),
                         0);
        const struct cw_op_open how = {.manifest = &manifest};
        assert_int_equal(cw_file_set_new(&none, cw_io_glob, &how, &set, &err), CW_E_CORRUPT);
        assert_null(set);
        cw_value_fini(&manifest);
    }
}

/* Who sees no files is told what in the pattern is not what it seems. */
static void nothing_matches(void **state)
{
    static const struct {
        const char *pattern, *says;
    } rows[] = {
        {"~/photos/*.jpg", "no files match (~ and variables are not expanded)"},
        {"/$HOME/photos/*.jpg", "no files match (~ and variables are not expanded)"},
        {"no-such-photos/*.jpg", "no files match (a path that does not begin with / is looked for"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        char *pattern = (char *)(uintptr_t)rows[i].pattern;
        struct cw_str_list patterns = {&pattern, 1};
        const struct cw_op_open how = {.identity = CW_IDENTITY_MTIME};
        struct cw_file_set *set = NULL;
        struct cw_err err = {0};
        assert_int_equal(cw_file_set_new(&patterns, cw_io_glob, &how, &set, &err), CW_E_NOT_FOUND);
        assert_non_null(strstr(err.msg, rows[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_few_descriptors),
                                       cmocka_unit_test(positions),
                                       cmocka_unit_test(bad_manifests),
                                       cmocka_unit_test(nothing_matches),
                                       cmocka_unit_test(identities),
                                       cmocka_unit_test(other_identity),
                                       cmocka_unit_test(changed_files_are_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
