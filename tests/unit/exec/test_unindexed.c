/* SPDX-License-Identifier: Apache-2.0 */
/* Sources without an index: the nodes that they stand for, and that these give the same records. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/strings.h"
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
    expect_nodes("{\"op\":\"tfrecord\",\"pattern\":\"/d\",\"index\":false,\"name\":\"t\"},"
                 "{\"op\":\"shuffle\"}",
                 "t_tfrecord_ranges tfrecord_ranges, shuffle shuffle 0, t_unbatch unbatch 1, "
                 "t unframe 2");
    expect_nodes("{\"op\":\"csv\",\"pattern\":\"/d\",\"schema\":\"a: i64\",\"index\":false},"
                 "{\"op\":\"shuffle\"}",
                 "csv_text_ranges text_ranges, shuffle shuffle 0, csv_split_lines split_lines 1, "
                 "csv parse_csv 2");
    expect_nodes("{\"op\":\"webdataset\",\"pattern\":\"/d\",\"columns\":[\"txt\"],\"index\":false},"
                 "{\"op\":\"shuffle\"}",
                 "webdataset_webdataset_shards webdataset_shards, shuffle shuffle 0, "
                 "webdataset_unbatch unbatch 1, webdataset parse_members 2");
    expect_nodes("{\"op\":\"jsonl\"," JSON "},{\"op\":\"shuffle\"}",
                 "jsonl jsonl, shuffle shuffle 0");
}

static void a_schema_is_needed(void **state)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(expand("{\"op\":\"csv\",\"pattern\":\"/d\",\"index\":false}", &graph, &err),
                     CW_E_INVALID);
    assert_non_null(strstr(err.msg, "`schema` must be given"));
    assert_int_equal(
        expand("{\"op\":\"webdataset\",\"pattern\":\"/d\",\"index\":false}", &graph, &err),
        CW_E_INVALID);
    assert_non_null(strstr(err.msg, "`columns` must be given"));
    assert_int_equal(expand("{\"op\":\"jsonl\",\"pattern\":\"/d\",\"index\":false}", &graph, &err),
                     CW_E_INVALID);
    assert_non_null(strstr(err.msg, "node \"jsonl\" (jsonl): option index: "));
    assert_non_null(strstr(err.msg, "`schema` must be given"));
}

static struct cw_plan *expanded_plan(const char *nodes)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    if (expand(nodes, &graph, &err) < 0 || cw_graph_check(graph, &checked, &err) < 0 ||
        cw_plan_new(checked, 1, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

static int64_t *ids_of(const char *nodes, uint64_t epoch, size_t *ret_n)
{
    struct cw_plan *plan = expanded_plan(nodes);
    int64_t *ids = rows_of(plan, epoch, ret_n);
    cw_plan_unref(plan);
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

/* ---- records of other formats ---- */

/* All values of each field, of the items in order. */
struct columns {
    struct cw_str v[8];
    uint64_t rows;
};

static void columns_fini(struct columns *columns)
{
    for (size_t f = 0; f < CW_ARRAY_LEN(columns->v); f++)
        cw_str_fini(&columns->v[f]);
}

static void add_strings(struct cw_str *out, const struct cw_tensor *tensor, const char *data)
{
    const int64_t count = tensor->field.rank > 0 ? tensor->field.dims[0] : 1;
    for (int64_t i = 0; i < count; i++) {
        size_t n;
        const char *p = cw_strings_get(data, count, i, &n);
        cw_str_addf(out, "%zu:", n);
        cw_str_add_bytes(out, p, n);
    }
}

static void add_batch(struct columns *columns, const struct cw_batch *batch)
{
    for (size_t f = 0; f < batch->n; f++) {
        const struct cw_tensor *tensor = &batch->tensors[f];
        if (tensor->field.dtype == CW_DTYPE_STR)
            add_strings(&columns->v[f], tensor, cw_batch_data(batch, f));
        else
            cw_str_add_bytes(&columns->v[f], cw_batch_data(batch, f), tensor->bytes);
    }
    columns->rows += batch->elements;
}

static void columns_of(const char *nodes, struct columns *ret)
{
    struct cw_plan *plan = expanded_plan(nodes);
    *ret = (struct columns){0};
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, 0, i, CW_BAD_SKIP, &batch, &err))
            fail_msg("%s: %s", nodes, err.msg);
        add_batch(ret, batch);
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
}

/* Whatever the length of ranges is, the rows are those with an index, in the same order. Bad ones are left out. */
static void expect_as_indexed(const char *source, uint64_t rows)
{
    static const int ranges[] = {1, 20, 21, 64, 1000, 1 << 20};
    cw_autofree char *plain = cw_mem_printf("{%s}", source);
    struct columns all, found;
    columns_of(plain, &all);
    assert_int_equal(all.rows, rows);
    for (size_t i = 0; i < CW_ARRAY_LEN(ranges); i++) {
        cw_autofree char *nodes =
            cw_mem_printf("{%s,\"index\":false,\"range\":%d}", source, ranges[i]);
        char *range = strstr(nodes, ",\"range\"");
        if (strstr(source, "webdataset")) /* whole files */
            memcpy(range, "}", 2);
        columns_of(nodes, &found);
        assert_int_equal(found.rows, rows);
        for (size_t f = 0; f < CW_ARRAY_LEN(all.v); f++) {
            assert_int_equal(found.v[f].len, all.v[f].len);
            assert_memory_equal(cw_str_text(&found.v[f]), cw_str_text(&all.v[f]), all.v[f].len);
        }
        columns_fini(&found);
    }
    columns_fini(&all);
}

#define FILES(op, pattern) "\"op\":\"" op "\",\"pattern\":\"" CW_TEST_IMAGES "/" pattern "\""

static void records_of_tfrecord(void **state)
{
    (void)state;
    expect_as_indexed(FILES("tfrecord", "records_*.tfrecord"), 5);
    expect_as_indexed(FILES("tfrecord", "bad_data.tfrecord"), 2);
    expect_as_indexed(FILES("tfrecord", "packed_*.tfrecord.gz"), 3);
}

#define CSV_SCHEMA "\"schema\":[\"id: i64\",\"text = text, long: str\",\"x: f64\",\"flag: bool\"]"
#define HOLES_SCHEMA                                                                               \
    "\"schema\":[\"a: i16\",\"b: f32\",\"c: "                                                      \
    "str\"],\"missing\":{\"a\":-1,\"b\":0},\"empty\":[\"NA\"]"

static void records_of_csv(void **state)
{
    (void)state;
    expect_as_indexed(FILES("csv", "csv_[ab].csv") "," CSV_SCHEMA, 30);
    expect_as_indexed(FILES("csv", "csv_all.tsv") ",\"separator\":\"\\t\"," CSV_SCHEMA, 30);
    expect_as_indexed(FILES("csv", "csv_all.csv.gz") "," CSV_SCHEMA, 30);
    expect_as_indexed(FILES("csv", "csv_h*.csv") "," HOLES_SCHEMA, 4);
    expect_as_indexed(FILES("csv", "csv_h*.csv") ",\"newlines\":false," HOLES_SCHEMA, 4);
    expect_as_indexed(FILES("csv", "csv_[hn]o*.csv") ",\"quote\":\"\"," HOLES_SCHEMA, 4);
    expect_as_indexed(FILES("csv", "csv_plain.csv") ",\"header\":false,\"quote\":\"\",\"schema\":"
                                                    "[\"n = 0: i16\",\"s = 2: str\"]",
                      2);
    /* records that are wrong, one by one */
    expect_as_indexed(FILES("csv", "bad_csv_[cr]*.csv") ",\"newlines\":false,\"schema\":\"a: i16\"",
                      2);
    expect_as_indexed(FILES("csv", "bad_csv_[cr]*.csv") ",\"schema\":\"a: i16\"", 2);
}

static void samples_of_webdataset(void **state)
{
    (void)state;
    expect_as_indexed(
        FILES("webdataset", "wds_p[al][ca]*") ",\"key\":\"k\",\"columns\":[\"jpg\",\"cls\"]", 80);
    expect_as_indexed(FILES("webdataset", "wds_m*.tar") ",\"columns\":[\"txt\",\"cls\"]", 2);
    expect_as_indexed(FILES("webdataset", "wds_[em]*.tar") ",\"missing\":\"empty\",\"columns\":"
                                                           "{\"text\":\"txt\",\"n\":\"cls\"}",
                      44);
    expect_as_indexed(FILES("webdataset", "wds_missing.tar") ",\"missing\":\"skip\",\"columns\":"
                                                             "[\"npy\",\"cls\",\"txt\"],\"types\":"
                                                             "{\"npy\":\"i16[-1]\"}",
                      1);
    expect_as_indexed(FILES("webdataset", "wds_bad_cls.tar") ",\"columns\":[\"cls\"]", 1);
    expect_as_indexed(
        FILES("webdataset", "wds_{gnu,pax}.tar") ",\"columns\":[\"txt\"],\"key\":\"k\"", 10);
}

static void compressed_lines(void **state)
{
    (void)state;
    expect_as_indexed(FILES("text_lines", "text_a.txt.*"), 10);
}

/* The error of an item in which elements may be left out, and how many items have one. */
static size_t failing_items(const char *nodes, struct cw_err *err)
{
    struct cw_plan *plan = expanded_plan(nodes);
    size_t failed = 0;
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        if (cw_exec_run(plan, 0, i, CW_BAD_SKIP, &batch, err) < 0)
            failed++;
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
    return failed;
}

/* A range that cannot be told apart from what lies inside of a record is no bad element that is left out. */
static void a_file_inside_of_a_record(void **state)
{
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(failing_items("{" FILES("tfrecord", "nested.tfrecord") "}", &err), 0);
    assert_int_equal(
        failing_items("{" FILES("tfrecord", "nested.tfrecord") ",\"index\":false}", &err), 0);
    assert_int_equal(
        failing_items("{" FILES("tfrecord", "nested.tfrecord") ",\"index\":false,\"range\":60}",
                      &err),
        1);
    assert_int_equal(err.code, CW_E_STATE);
    assert_non_null(strstr(err.msg, "nested.tfrecord"));
    assert_non_null(strstr(err.msg, "leave out index: false"));
}

/* Nor is a whole file. */
static void a_damaged_file(void **state)
{
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(
        failing_items("{" FILES("tfrecord", "bad_cut.tfrecord.gz") ",\"index\":false}", &err), 1);
    assert_int_equal(err.code, CW_E_STATE);
    assert_non_null(strstr(err.msg, "bad_cut.tfrecord.gz: truncated"));
    assert_int_equal(
        failing_items("{" FILES("webdataset", "wds_bad_cut.tar") ",\"columns\":[\"jpg\"],"
                                                                 "\"index\":false}",
                      &err),
        1);
    assert_int_equal(err.code, CW_E_STATE);
    assert_non_null(strstr(err.msg, "wds_bad_cut.tar: member 1 at byte 1024: truncated"));
    assert_int_equal(failing_items("{" FILES("csv", "bad_csv_open.csv") ",\"schema\":\"a: i16\","
                                                                        "\"index\":false}",
                                   &err),
                     1);
    assert_int_equal(err.code, CW_E_STATE);
    assert_non_null(strstr(err.msg, "a quote is open until the end of the file"));
    assert_int_equal(failing_items("{" FILES("csv", "csv_holes.csv") ",\"schema\":\"d: i16\","
                                                                     "\"index\":false}",
                                   &err),
                     1);
    assert_int_equal(err.code, CW_E_STATE);
    assert_non_null(strstr(err.msg, "column \"d\": there is none"));
}

static char *temporary_file(const char *text)
{
    cw_autofree char *path = cw_mem_strdup("/tmp/cachew_unindexed_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return cw_steal(&path);
}

/* A file that became another one since the job was prepared is told. */
static void a_file_that_changes(void **state)
{
    static const char *const kinds[] = {"{\"op\":\"text_lines\"", "{\"op\":\"tfrecord\"",
                                        "{\"op\":\"csv\",\"schema\":\"a: i64\"",
                                        "{\"op\":\"webdataset\",\"columns\":[\"txt\"]"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds); i++) {
        cw_autofree char *path = temporary_file("first\nsecond\n");
        cw_autofree char *nodes =
            cw_mem_printf("%s,\"pattern\":\"%s\",\"index\":false}", kinds[i], path);
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        struct cw_plan *plan = expanded_plan(nodes);
        cw_autofree char *other = temporary_file("first, changed\nsecond\n");
        assert_int_equal(rename(other, path), 0);
        assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_SKIP, &batch, &err), CW_E_OTHER_FILE);
        assert_non_null(strstr(err.msg, path));
        cw_plan_unref(plan);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_stand_for_others), cmocka_unit_test(a_schema_is_needed),
        cmocka_unit_test(the_same_records),       cmocka_unit_test(records_of_tfrecord),
        cmocka_unit_test(records_of_csv),         cmocka_unit_test(samples_of_webdataset),
        cmocka_unit_test(compressed_lines),       cmocka_unit_test(a_file_inside_of_a_record),
        cmocka_unit_test(a_damaged_file),         cmocka_unit_test(a_file_that_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
