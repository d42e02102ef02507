/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines whose files say what their elements are: what is known without them, and with them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/kept_index.h"
#include "support/checked.h"

#define FILES CW_TEST_SOURCE_DIR "/tests/ops/data/"
#define IDX "{\"op\": \"idx\", \"name\": \"i\", \"pattern\": \"" FILES "idx_u8.idx\"}"
#define BEHIND                                                                                     \
    ", {\"op\": \"cast\", \"dtype\": \"f32\", \"fields\": \"data\"}, {\"op\": \"batch\", "         \
    "\"size\": "                                                                                   \
    "2}"

static struct cw_graph *parse(const char *nodes)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    cw_autofree char *text = cw_mem_printf("{\"pipeline\": [%s]}", nodes);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) < 0)
        fail_msg("%s", err.msg);
    return graph;
}

static struct cw_checked *check_without_data(const char *nodes)
{
    struct cw_graph *graph = parse(nodes);
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    if (cw_graph_check_without_data(graph, &checked, &err) < 0)
        fail_msg("%s", err.msg);
    cw_graph_unref(graph);
    return checked;
}

static void without_its_files_it_is_unknown(void **state)
{
    struct cw_err err = {0};
    struct cw_graph *graph = parse(IDX BEHIND);
    struct cw_checked *checked = NULL;
    (void)state;
    assert_int_equal(cw_graph_check(graph, &checked, &err), CW_E_UNSUPPORTED);
    cw_graph_unref(graph);
    assert_non_null(strstr(err.msg, "node \"i\" (idx)"));
    assert_non_null(strstr(err.msg, "give dtype and dims"));
    checked = check_without_data(IDX BEHIND);
    for (size_t i = 0; i < 3; i++) {
        assert_true(checked->nodes[i].unknown);
        assert_int_equal(checked->nodes[i].out.n, 0);
    }
    cw_checked_unref(checked);
}

/* Options of operators behind it are checked nevertheless. */
static void mistakes_are_found_without_its_files(void **state)
{
    struct cw_graph *graph = parse(IDX ", {\"op\": \"batch\", \"size\": -1}");
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_graph_check_without_data(graph, &checked, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "option size"));
    cw_graph_unref(graph);
}

static bool same_without_data(const char *a, const char *b)
{
    struct cw_checked *x = check_without_data(a), *y = check_without_data(b);
    bool same = cw_hash_eq(x->fingerprint, y->fingerprint);
    cw_checked_unref(x);
    cw_checked_unref(y);
    return same;
}

static void fields_count_although_they_are_not_known(void **state)
{
    (void)state;
    assert_true(same_without_data(IDX BEHIND, IDX BEHIND));
    assert_false(
        same_without_data(IDX ", {\"op\": \"cast\", \"dtype\": \"f32\", \"fields\": \"a\"}",
                          IDX ", {\"op\": \"cast\", \"dtype\": \"f32\", \"fields\": \"b\"}"));
}

static void assert_spec(struct cw_graph *graph, const char *spec)
{
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    if (cw_graph_check(graph, &checked, &err) < 0)
        fail_msg("%s", err.msg);
    cw_spec_print(&checked->nodes[graph->n - 1].out, &text);
    assert_string_equal(cw_str_text(&text), spec);
    cw_checked_unref(checked);
}

static void files_complete_it(void **state)
{
    struct cw_graph *graph = parse(IDX BEHIND), *completed = NULL, *again = NULL, *like = NULL;
    struct cw_graph *other = parse(IDX ", {\"op\": \"batch\", \"size\": 3}");
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_graph_incomplete(graph), 0);
    assert_int_equal(cw_graph_complete(graph, NULL, NULL, &completed, &err), 0);
    assert_true(completed != graph && cw_graph_incomplete(completed) == SIZE_MAX);
    assert_spec(completed, "data: f32[?,3,2]");
    assert_int_equal(cw_graph_complete(completed, NULL, NULL, &again, &err), 0);
    assert_ptr_equal(again, completed);
    assert_int_equal(cw_graph_complete_like(other, completed, &like, &err), 0);
    assert_spec(like, "data: u8[?,3,2]");
    cw_graph_unref(like);
    cw_graph_unref(other);
    cw_graph_unref(again);
    cw_graph_unref(completed);
    cw_graph_unref(graph);
}

/* The first file of a manifest is looked into, whatever the pattern finds by now. */
static void a_manifest_names_the_file(void **state)
{
    static const char text[] = "{\"i\": {\"files\": [[\"" FILES "idx_i16.idx\", 1, 1, 1]]}}";
    struct cw_graph *graph =
        parse("{\"op\": \"idx\", \"name\": \"i\", \"pattern\": \"/nothing*\"}");
    struct cw_graph *completed = NULL;
    struct cw_value manifest = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_value_parse(text, strlen(text), "", &manifest, &err), 0);
    assert_int_equal(cw_graph_complete(graph, &manifest, NULL, &completed, &err), 0);
    assert_spec(completed, "data: i16[2]");
    cw_graph_unref(cw_steal(&completed));
    cw_value_fini(&manifest);
    manifest = (struct cw_value){0};
    assert_int_equal(cw_value_parse("{\"i\": {}}", 9, "", &manifest, &err), 0);
    assert_int_equal(cw_graph_complete(graph, &manifest, NULL, &completed, &err), CW_E_CORRUPT);
    cw_value_fini(&manifest);
    cw_graph_unref(graph);
}

static void what_cannot_be_looked_into_is_named(void **state)
{
    struct cw_graph *graph =
        parse(IDX ", {\"op\": \"chunks\", \"name\": \"c\", \"pattern\": \"" FILES
                  "records_a.tfrecord\"}, {\"op\": \"zip\", \"inputs\": [\"i\", "
                  "\"c\"]}");
    struct cw_graph *completed = NULL, *like = parse("{\"op\": \"range\", \"stop\": 3}");
    struct cw_err err = {0};
    (void)state;
    assert_true(cw_graph_complete(graph, NULL, NULL, &completed, &err) < 0);
    assert_non_null(strstr(err.msg, "node \"c\" (chunks): "));
    assert_non_null(strstr(err.msg, "not a chunk"));
    assert_true(cw_graph_complete_like(graph, like, &completed, &err) < 0);
    assert_null(completed);
    cw_graph_unref(like);
    cw_graph_unref(graph);
}

/* ---- what a file said is kept ---- */

static struct {
    char *name;
    void *bytes;
    size_t n;
} kept;

static bool get(void *arg, uint64_t store, const char *name, size_t most, void **ret_blob,
                size_t *ret_n)
{
    (void)arg;
    (void)store;
    if (!kept.name || strcmp(kept.name, name) != 0 || kept.n > most)
        return false;
    *ret_blob = cw_mem_dup(kept.bytes, kept.n);
    *ret_n = kept.n;
    return true;
}

static void put(void *arg, uint64_t store, const char *name, const void *blob, size_t n)
{
    (void)arg;
    (void)store;
    cw_mem_free(kept.name);
    cw_mem_free(kept.bytes);
    kept.name = cw_mem_strdup(name);
    kept.bytes = cw_mem_dup(blob, n);
    kept.n = n;
}

/* Writes a file of so many bytes, which changed at this second. */
static void write_text(const char *path, const char *text, int64_t mtime_s)
{
    const struct timespec times[2] = {{.tv_sec = mtime_s}, {.tv_sec = mtime_s}};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The options of the source, which may have looked into the file. */
static char *completed_options(const char *nodes)
{
    struct cw_graph *graph = parse(nodes), *completed = NULL;
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    if (cw_graph_complete(graph, NULL, NULL, &completed, &err) < 0)
        fail_msg("%s", err.msg);
    cw_value_print(&completed->nodes[0].options, &text);
    cw_graph_unref(completed);
    cw_graph_unref(graph);
    return cw_str_take(&text);
}

static void what_a_file_said_is_kept(void **state)
{
    static const struct cw_index_keeper keeper = {.get = get, .put = put};
    char path[] = "/tmp/cachew-complete-XXXXXX";
    (void)state;
    close(mkstemp(path));
    cw_autofree char *nodes = cw_mem_printf("{\"op\": \"csv\", \"pattern\": \"%s\"}", path);
    write_text(path, "a,b\n1,2\n", 1000);
    cw_index_keeper_set(&keeper);
    cw_autofree char *first = completed_options(nodes);
    assert_non_null(strstr(first, "\"a: i64\""));
    /* The bytes are others, and nothing else: it is not looked into. */
    write_text(path, "c,d\n1,2\n", 1000);
    cw_autofree char *second = completed_options(nodes);
    assert_string_equal(second, first);
    /* It is another file. */
    write_text(path, "c,d\n1,2\n", 1001);
    cw_autofree char *third = completed_options(nodes);
    assert_non_null(strstr(third, "\"c: i64\""));
    /* What is kept is damaged. */
    ((char *)kept.bytes)[kept.n - 1] ^= 1;
    cw_autofree char *fourth = completed_options(nodes);
    assert_string_equal(fourth, third);
    cw_index_keeper_set(NULL);
    cw_mem_free(kept.name);
    cw_mem_free(kept.bytes);
    (void)unlink(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_a_file_said_is_kept),
    cmocka_unit_test(without_its_files_it_is_unknown),
    cmocka_unit_test(mistakes_are_found_without_its_files),
    cmocka_unit_test(fields_count_although_they_are_not_known),
    cmocka_unit_test(files_complete_it),
    cmocka_unit_test(a_manifest_names_the_file),
    cmocka_unit_test(what_cannot_be_looked_into_is_named)};
CW_TESTS_MAIN(tests)
