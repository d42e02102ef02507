/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines whose files say what their elements are: what is known without them, and with them. */
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(without_its_files_it_is_unknown),
    cmocka_unit_test(mistakes_are_found_without_its_files),
    cmocka_unit_test(fields_count_although_they_are_not_known),
    cmocka_unit_test(files_complete_it),
    cmocka_unit_test(a_manifest_names_the_file),
    cmocka_unit_test(what_cannot_be_looked_into_is_named)};
CW_TESTS_MAIN(tests)
