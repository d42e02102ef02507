/* SPDX-License-Identifier: Apache-2.0 */
/* Text to graph and back, and what is wrong with texts. */
#include "base/mem.h"
#include "graph/graph.h"
#include "support/cm.h"
#include <string.h>

static struct cw_graph *parse(const char *text)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    if (cw_graph_parse(text, strlen(text), "t.json", &graph, &err))
        fail_msg("%s: %s", text, err.msg);
    return graph;
}

static const char photos[] =
    "{\"name\": \"photos\", \"pipeline\": ["
    "{\"op\": \"files\", \"pattern\": \"/data/**/*.jpg\"}, {\"op\": \"shuffle\"}, {\"op\": "
    "\"read_file\"},"
    "{\"op\": \"decode_image\", \"channels\": 3}, {\"op\": \"random_resized_crop\", \"size\": "
    "[224, 224], \"keep_position\": true},"
    "{\"op\": \"normalize\", \"mean\": [0.485, 1.0], \"fields\": \"image\", \"depends_on\": "
    "[\"shuffle\"]}, {\"op\": \"shuffle\"},"
    "{\"op\": \"batch\", \"size\": 64, \"drop_remainder\": true}]}";

static void test_chain(void **state)
{
    (void)state;
    struct cw_graph *graph = parse(photos);
    assert_string_equal(graph->name, "photos");
    assert_int_equal(graph->n, 8);
    assert_string_equal(graph->nodes[1].name, "shuffle");
    assert_string_equal(graph->nodes[6].name, "shuffle_2");
    assert_int_equal(graph->nodes[0].inputs_n, 0);
    for (size_t i = 1; i < graph->n; i++) {
        assert_true(graph->nodes[i].chained);
        assert_int_equal(graph->nodes[i].inputs[0], i - 1);
    }
    assert_true(graph->nodes[4].keep_position);
    assert_string_equal(graph->nodes[5].fields[0], "image");
    assert_int_equal(graph->nodes[7].options.n, 2);
    assert_true(graph->nodes[1].named); /* depends_on speaks of it */
    assert_false(graph->nodes[6].named);
    cw_graph_unref(graph);
}

/* The identity of source files is kept, and mtime is not written out. */
static void test_identity(void **state)
{
    static const char *const texts[] = {
        "{\"pipeline\": [{\"op\": \"range\"}]}",
        "{\"identity\": \"size\", \"pipeline\": [{\"op\": \"range\"}]}",
        "{\"identity\": \"sample\", \"pipeline\": [{\"op\": \"range\"}]}",
        "{\"identity\": \"content\", \"pipeline\": [{\"op\": \"range\"}]}"};
    static const char wrong[] = "{\"identity\": \"hash\", \"pipeline\": [{\"op\": \"range\"}]}",
                      number[] = "{\"identity\": 1, \"pipeline\": [{\"op\": \"range\"}]}";
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    (void)state;
    for (int i = 0; i < CW_IDENTITY_N; i++) {
        CW_STR_AUTO text = {0};
        graph = parse(texts[i]);
        assert_int_equal(graph->identity, i);
        cw_graph_print(graph, &text);
        assert_int_equal(strstr(cw_str_text(&text), "identity") != NULL, i != CW_IDENTITY_MTIME);
        cw_graph_unref(graph);
        graph = parse(cw_str_text(&text));
        assert_int_equal(graph->identity, i);
        cw_graph_unref(graph);
    }
    assert_int_equal(cw_graph_parse(wrong, strlen(wrong), "t.json", &graph, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "none of mtime, size, sample, content"));
    assert_int_equal(cw_graph_parse(number, strlen(number), "t.json", &graph, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "must be a string"));
}

static void test_order(void **state)
{
    (void)state;
    /* zip is listed before one of its inputs; the chain a -> a2 stays together */
    struct cw_graph *graph =
        parse("{\"pipeline\": [{\"op\": \"range\", \"name\": \"a\"}, {\"op\": \"cast\", \"name\": "
              "\"a2\"},"
              "{\"op\": \"zip\", \"inputs\": [\"a2\", \"b\"]}, {\"op\": \"batch\"}, {\"op\": "
              "\"range\", \"name\": \"b\", \"inputs\": []}]}");
    const char *want[] = {"a", "a2", "b", "zip", "batch"};
    for (size_t i = 0; i < graph->n; i++)
        assert_string_equal(graph->nodes[i].name, want[i]);
    assert_int_equal(graph->nodes[3].inputs[1], 2);
    cw_graph_unref(graph);
}

static void test_round_trip(void **state)
{
    (void)state;
    const char *texts[] = {
        photos,
        "{\"pipeline\": [{\"op\": \"zip\", \"inputs\": [\"shuffle\", \"range_2\"]}, {\"op\": "
        "\"range\", \"inputs\": []}, {\"op\": \"shuffle\"},"
        "{\"op\": \"range\", \"inputs\": [], \"stop\": 1e3, \"a b\": {\"x\": [null, true]}}]}"};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        CW_STR_AUTO once = {0}, twice = {0};
        struct cw_graph *a = parse(texts[i]);
        cw_graph_print(a, &once);
        struct cw_graph *b = parse(cw_str_text(&once));
        cw_graph_print(b, &twice);
        assert_string_equal(cw_str_text(&once), cw_str_text(&twice));
        assert_int_equal(a->n, b->n);
        for (size_t k = 0; k < a->n; k++) {
            assert_string_equal(a->nodes[k].name, b->nodes[k].name);
            assert_int_equal(a->nodes[k].named, b->nodes[k].named);
            assert_int_equal(a->nodes[k].chained, b->nodes[k].chained);
            assert_true(cw_value_eq(&a->nodes[k].options, &b->nodes[k].options));
        }
        cw_graph_unref(a);
        cw_graph_unref(b);
    }
}

static const struct {
    const char *text, *says;
} bad[] = {
    {"", "t.json"},
    {"[]", "t.json: a pipeline is an object"},
    {"{}", "\"pipeline\" is missing"},
    {"{\"pipelines\": []}", "did you mean \"pipeline\"?"},
    {"{\"pipeline\": {}}", "must be a list"},
    {"{\"pipeline\": []}", "no nodes"},
    {"{\"name\": 3, \"pipeline\": []}", "\"name\""},
    {"{\"pipeline\": [3]}", "node 1: must be an object"},
    {"{\"pipeline\": [{\"o\": \"range\"}]}", "node 1: \"op\" is missing"},
    {"{\"pipeline\": [{\"op\": 3}]}", "op must be a string, not"},
    {"{\"pipeline\": [{\"op\": \"\"}]}", "op must be a name"},
    {"{\"pipeline\": [{\"op\": \"range\", \"name\": \"\"}]}", "node 1 (range): name"},
    {"{\"pipeline\": [{\"op\": \"range\", \"name\": \"a\"}, {\"op\": \"batch\", \"name\": \"a\"}]}",
     "node \"a\" (batch): another node"},
    {"{\"pipeline\": [{\"op\": \"range\", \"name\": \"abc\"}, {\"op\": \"batch\", \"inputs\": "
     "[\"abd\"]}]}",
     "did you mean \"abc\"?"},
    {"{\"pipeline\": [{\"op\": \"range\"}, {\"op\": \"batch\", \"depends_on\": \"qqqq\"}]}",
     "depends_on: no node is called \"qqqq\""},
    {"{\"pipeline\": [{\"op\": \"range\"}, {\"op\": \"batch\", \"inputs\": [3]}]}",
     "inputs must be a name"},
    {"{\"pipeline\": [{\"op\": \"range\"}, {\"op\": \"batch\", \"fields\": {}}]}",
     "fields must be a name"},
    {"{\"pipeline\": [{\"op\": \"range\"}, {\"op\": \"batch\", \"keep_position\": 1}]}",
     "node 2 (batch): keep_position must be true or false"},
    {"{\"pipeline\": [{\"op\": \"cast\", \"name\": \"a\", \"inputs\": [\"c\"]}, {\"op\": \"cast\", "
     "\"name\": \"b\"}, {\"op\": \"zip\", \"name\": \"c\", \"inputs\": [\"b\", \"a\"]}]}",
     "cycle"},
    {"{\"pipeline\": [{\"op\": \"cast\", \"name\": \"a\", \"inputs\": [\"a\"]}]}",
     "\"a\" reads \"a\""},
    {"{\"pipeline\": [{\"op\": \"range\", \"name\": \"a\"}, {\"op\": \"range\", \"name\": \"b\", "
     "\"inputs\": []}, {\"op\": \"batch\"}]}",
     "node \"a\" (range): nobody reads it"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_graph *graph = NULL;
        struct cw_err err = {0};
        int rc = cw_graph_parse(bad[i].text, strlen(bad[i].text), "t.json", &graph, &err);
        if (rc >= 0 || !strstr(err.msg, bad[i].says))
            fail_msg("%s: \"%s\", not \"%s\"", bad[i].text, err.msg, bad[i].says);
        assert_null(graph);
    }
}

static void test_limits(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        CW_STR_AUTO text = {0};
        struct cw_graph *graph = NULL;
        struct cw_err err = {0};
        cw_str_add(&text, "{\"pipeline\": [{\"op\": \"range\"}");
        for (int i = 1; i < CW_GRAPH_NODES_MAX + extra; i++)
            cw_str_add(&text, ",{\"op\": \"cast\"}");
        cw_str_add(&text, "]}");
        int rc = cw_graph_parse(text.s, text.len, "", &graph, &err);
        assert_int_equal(rc, extra ? CW_E_LIMIT : 0);
        cw_graph_unref(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_identity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
