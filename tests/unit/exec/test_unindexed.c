/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of lines without an index: the nodes that they stand for, and that these give the same records. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/expand.h"
#include "support/cm.h"

#define JSON "\"pattern\":\"" CW_TEST_IMAGES "/json_[ab].jsonl\",\"schema\":\"id: i64\""

static int expand(const char *nodes, struct cw_graph **ret_graph, struct cw_err *err)
{
    struct cw_graph *written = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\":[%s]}", nodes);
    assert_int_equal(cw_graph_parse(text, strlen(text), "", &written, err), 0);
    int rc = cw_graph_expand(written, ret_graph, err);
    if (rc == 0)
        assert_true(*ret_graph != written || !strstr(nodes, "\"index\":false"));
    cw_graph_unref(written);
    return rc;
}

/* "NAME OP INPUT" of each node, the input's number. */
static void expect_nodes(const char *nodes, const char *expected)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    if (expand(nodes, &graph, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < graph->n; i++) {
        const struct cw_node *node = &graph->nodes[i];
        cw_str_addf(&text, "%s%s %s", i ? ", " : "", node->name, node->op);
        for (size_t k = 0; k < node->inputs_n; k++)
            cw_str_addf(&text, " %zu", node->inputs[k]);
    }
    assert_string_equal(cw_str_text(&text), expected);
    cw_graph_unref(graph);
}

static void nodes_stand_for_others(void **state)
{
    (void)state;
    expect_nodes("{\"op\":\"text_lines\",\"pattern\":\"/d\",\"index\":false}",
                 "text_lines_text_ranges text_ranges, text_lines split_lines 0");
    expect_nodes("{\"op\":\"jsonl\"," JSON ",\"index\":false,\"name\":\"j\"},{\"op\":\"shuffle\"},"
                 "{\"op\":\"batch\",\"size\":2}",
                 "j_text_ranges text_ranges, shuffle shuffle 0, j_split_lines split_lines 1, "
                 "j parse_json 2, batch batch 3");
    expect_nodes("{\"op\":\"range\",\"stop\":5,\"name\":\"r\"},{\"op\":\"text_lines\",\"pattern\":"
                 "\"/d\",\"index\":false,\"name\":\"t\"},{\"op\":\"take\",\"count\":3,\"name\":"
                 "\"k\"},{\"op\":\"zip\",\"inputs\":[\"r\",\"k\"]}",
                 "r range, t_text_ranges text_ranges 0, t split_lines 1, k take 2, zip zip 0 3");
    expect_nodes("{\"op\":\"jsonl\"," JSON "},{\"op\":\"shuffle\"}",
                 "jsonl jsonl, shuffle shuffle 0");
}

static void a_schema_is_needed(void **state)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(expand("{\"op\":\"jsonl\",\"pattern\":\"/d\",\"index\":false}", &graph, &err),
                     CW_E_INVALID);
    assert_non_null(strstr(err.msg, "node \"jsonl\" (jsonl): option index: "));
    assert_non_null(strstr(err.msg, "`schema` must be given"));
}

static int64_t *ids_of(const char *nodes, uint64_t epoch, size_t *ret_n)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    if (expand(nodes, &graph, &err) < 0 || cw_graph_check(graph, &checked, &err) < 0 ||
        cw_plan_new(checked, 1, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    int64_t *ids = rows_of(plan, epoch, ret_n);
    cw_plan_unref(plan);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return ids;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Ranges of any length give all records once, in order; a shuffle gives them in another one. */
static void the_same_records(void **state)
{
    static const int ranges[] = {1, 7, 100, 1000, 1 << 20};
    size_t all_n = 0, n = 0;
    int64_t *all = ids_of("{\"op\":\"jsonl\"," JSON "}", 0, &all_n);
    (void)state;
    assert_true(all_n > 10);
    for (size_t i = 0; i < CW_ARRAY_LEN(ranges); i++) {
        cw_autofree char *nodes =
            cw_mem_printf("{\"op\":\"jsonl\"," JSON ",\"index\":false,\"range\":%d}", ranges[i]);
        int64_t *ids = ids_of(nodes, 0, &n);
        assert_int_equal(n, all_n);
        assert_memory_equal(ids, all, n * sizeof(*ids));
        cw_mem_free(ids);
    }
    int64_t *ids = ids_of("{\"op\":\"jsonl\"," JSON ",\"index\":false,\"range\":100},"
                          "{\"op\":\"shuffle\"}",
                          0, &n);
    assert_int_equal(n, all_n);
    assert_true(memcmp(ids, all, n * sizeof(*ids)) != 0);
    qsort(ids, n, sizeof(*ids), compare);
    qsort(all, n, sizeof(*all), compare);
    assert_memory_equal(ids, all, n * sizeof(*ids));
    cw_mem_free(ids);
    cw_mem_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_stand_for_others),
                                       cmocka_unit_test(a_schema_is_needed),
                                       cmocka_unit_test(the_same_records)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
