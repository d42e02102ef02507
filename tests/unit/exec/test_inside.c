/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that work inside items, in the engine: what they make of the rows of an item, which random
 * numbers are drawn behind them, what is bad, and that threads do not show. */
#include "base/mem.h"
#include "data/ragged.h"
#include "run.h"
#include "support/checked.h"
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANGE(n) "{\"op\":\"range\",\"stop\":" #n "}"
#define ODD "{\"op\":\"filter\",\"expr\":\"x % 2 == 1\"}"
/* batches of 0 to 4 elements: those of five consecutive numbers that a filter leaves */
#define UNEQUAL                                                                                    \
    RANGE(1000)                                                                                    \
    ",{\"op\":\"filter\",\"expr\":\"x * 7 % 11 < 5\"},"                                            \
    "{\"op\":\"batch\",\"size\":4,\"within\":\"item\",\"span\":50}"

/* The rows of item `i`. Fails the test if it cannot be computed. */
static struct cw_batch *item(struct cw_plan *plan, uint64_t i)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    if (cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err) < 0)
        fail_msg("%s", err.msg);
    return batch;
}

static void threads_do_not_show(void **state)
{
    static const char *const pipelines[] = {
        UNEQUAL ",{\"op\":\"rebatch\",\"size\":7}",
        UNEQUAL ",{\"op\":\"unbatch\"},{\"op\":\"batch\",\"size\":6}",
        RANGE(3000) ",{\"op\":\"shuffle\"}," ODD ",{\"op\":\"window\",\"size\":5,\"shift\":2,"
                    "\"span\":100},{\"op\":\"eval\",\"expr\":\"x * 2\"}",
        UNEQUAL ",{\"op\":\"pack\",\"length\":6,\"span\":80},{\"op\":\"batch\",\"size\":3}",
        UNEQUAL ",{\"op\":\"bucket_by_length\",\"bounds\":[2,3],\"tokens\":12,\"step\":2}",
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(pipelines); i++) {
        struct cw_plan *plan = plan_of(pipelines[i], 3);
        struct cw_hash want = hash_here(plan, 1, CW_BAD_FAIL);
        for (size_t threads = 1; threads <= 4; threads *= 2) {
            uint64_t rows;
            struct cw_hash got = hash_pool(plan, threads, 1, CW_BAD_FAIL, &rows);
            if (!cw_hash_eq(want, got))
                fail_msg("%s: %zu threads", pipelines[i], threads);
            assert_true(rows > 20);
        }
        cw_plan_unref(plan);
    }
}

/* A window over elements whose number is known is positions: its pipeline is dense, and what it gives is
 * what twenty lines give. */
static void a_window_is_positions(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 25; n++) {
        for (int64_t k = 0; k < 50; k++) {
            int64_t size = 1 + k % 5, shift = 1 + k / 5 % 5, made = 0;
            bool drop = k / 25 != 0;
            cw_autofree char *text =
                cw_mem_printf("{\"op\":\"range\",\"stop\":%d},{\"op\":\"window\",\"size\":%d,"
                              "\"shift\":%d,\"drop_remainder\":%s}",
                              (int)n, (int)size, (int)shift, drop ? "true" : "false");
            struct cw_plan *plan = plan_of(text, 1);
            assert_false(cw_plan_info(plan)->sparse);
            for (int64_t first = 0; first < n; first += shift) {
                int64_t rows = CW_MIN(size, n - first);
                if (drop && rows < size)
                    break;
                struct cw_batch *batch = item(plan, (uint64_t)made++);
                assert_int_equal(batch->elements, rows);
                for (int64_t r = 0; r < rows; r++)
                    assert_int_equal(((const int64_t *)cw_batch_data(batch, 0))[r], first + r);
                cw_batch_unref(batch);
            }
            assert_int_equal(cw_plan_info(plan)->items, made);
            cw_plan_unref(plan);
        }
    }
}

/* Windows of windows, and one below a shuffle, by the walk. */
static void windows_are_nested(void **state)
{
    struct cw_plan *plan = plan_of(RANGE(6) ",{\"op\":\"window\",\"size\":3,\"shift\":1},"
                                            "{\"op\":\"window\",\"size\":2,\"shift\":2}",
                                   1);
    static const int64_t want[] = {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5};
    size_t n = 0;
    (void)state;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 12);
    assert_memory_equal(rows, want, sizeof(want));
    cw_plan_unref(plan);
}

/* Batches that a worker makes of what a filter leaves of each item: every row once, in order, short only
 * at the ends of items, and an operator behind it works on whole batches. */
static void batches_within_items(void **state)
{
    struct cw_plan *plan =
        plan_of(RANGE(1000) "," ODD ",{\"op\":\"batch\",\"size\":8,\"within\":\"item\","
                            "\"span\":100},{\"op\":\"eval\",\"expr\":\"x + 5000\"}",
                1);
    size_t n = 0;
    (void)state;
    assert_int_equal(cw_plan_info(plan)->items, 10);
    assert_int_equal(cw_plan_info(plan)->join.batch, 0);
    struct cw_batch *batch = item(plan, 0); /* 50 rows: 6 batches of 8, one of 2 */
    assert_int_equal(batch->elements, 7);
    cw_batch_unref(batch);
    for (uint64_t i = 0; i < 10; i++) {
        batch = item(plan, i);
        struct cw_field field = batch->tensors[0].field;
        assert_int_equal(field.dims[0], 7);
        assert_int_equal(field.dims[1], CW_DIM_RAGGED);
        cw_batch_unref(batch);
    }
    cw_plan_unref(plan);
    plan = plan_of(RANGE(1000) "," ODD ",{\"op\":\"batch\",\"size\":8,\"within\":\"item\","
                               "\"span\":100},{\"op\":\"eval\",\"expr\":\"x + 5000\"},"
                               "{\"op\":\"unbatch\"}",
                   1);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 500);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i], 5001 + 2 * (int64_t)i);
    cw_plan_unref(plan);
}

/* Where nothing changes the count, within makes no difference, and none to the fingerprint's pipeline. */
static void a_dense_batch_stays_dense(void **state)
{
    struct cw_plan *plain = plan_of(RANGE(100) ",{\"op\":\"batch\",\"size\":8}", 1);
    struct cw_plan *plan =
        plan_of(RANGE(100) ",{\"op\":\"batch\",\"size\":8,\"within\":\"item\"}", 1);
    (void)state;
    assert_false(cw_plan_info(plan)->sparse);
    struct cw_hash a = hash_here(plain, 0, CW_BAD_FAIL), b = hash_here(plan, 0, CW_BAD_FAIL);
    assert_true(cw_hash_eq(a, b));
    cw_plan_unref(plain);
    cw_plan_unref(plan);
}

static void strings_and_ragged_rows_are_taken_apart(void **state)
{
    struct cw_plan *plan =
        plan_of("{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]},"
                "{\"op\":\"batch\",\"size\":2},{\"op\":\"unbatch\"}",
                1);
    (void)state;
    struct cw_batch *batch = item(plan, 0);
    const int64_t *ends = cw_batch_data(batch, 0);
    static const int64_t want[] = {0, 1, 1, 4, 6, 7};
    assert_int_equal(batch->elements, 5);
    assert_memory_equal(ends, want, sizeof(want));
    assert_memory_equal(ends + 6, "acccdde", 7);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
    /* rows of 3, 3, 3 and 1 numbers, as a ragged batch */
    plan = plan_of(RANGE(10) ",{\"op\":\"batch\",\"size\":3},"
                             "{\"op\":\"batch\",\"size\":4,\"ragged\":true},{\"op\":\"unbatch\"}",
                   1);
    size_t n = 0;
    batch = item(plan, 0);
    assert_int_equal(batch->elements, 4);
    assert_int_equal(batch->tensors[0].field.dims[1], CW_DIM_RAGGED);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
    plan = plan_of(RANGE(10) ",{\"op\":\"batch\",\"size\":3},"
                             "{\"op\":\"batch\",\"size\":4,\"ragged\":true},{\"op\":\"unbatch\"},"
                             "{\"op\":\"unbatch\"}",
                   1);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 10);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i], i);
    cw_plan_unref(plan);
}

/* Elements that one row makes draw different numbers, and those of all rows do. */
static void what_is_made_draws_by_itself(void **state)
{
    struct cw_plan *plan =
        plan_of(RANGE(5120) ",{\"op\":\"batch\",\"size\":64},"
                            "{\"op\":\"batch\",\"size\":2},"
                            "{\"op\":\"batch\",\"size\":20},{\"op\":\"unbatch\"},"
                            "{\"op\":\"random_flip\"}",
                5);
    size_t n = 0, flipped = 0, same = 0;
    bool flip[40];
    (void)state;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 5120);
    for (size_t i = 0; i < 40; i++) {
        flip[i] = rows[i * 128] % 64 != 0;
        flipped += flip[i];
        same += i >= 20 && flip[i] == flip[i - 20];
    }
    assert_true(flipped > 8 && flipped < 32);
    assert_true(same > 2 && same < 18);
    cw_plan_unref(plan);
}

/* A file of lines with the numbers 0 to 5999 in sequences of 0 to 8; a pipeline of it, without a batch. */
struct sequences {
    char path[64];
    char *nodes;
};

static void begin_sequences(struct sequences *ret)
{
    snprintf(ret->path, sizeof(ret->path), "%s", "/tmp/cachew_sequences_XXXXXX");
    int fd = mkstemp(ret->path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(file);
    for (int at = 0, line = 0; at < 6000; line++) {
        int n = CW_MIN(line * 7 % 9, 6000 - at);
        fprintf(file, "{\"t\":[");
        for (int k = 0; k < n; k++)
            fprintf(file, "%s%d", k ? "," : "", at++);
        fprintf(file, "]}\n");
    }
    assert_int_equal(fclose(file), 0);
    ret->nodes = cw_mem_printf("{\"op\":\"jsonl\",\"pattern\":\"%s\",\"schema\":[\"t: i64[?]\"]},"
                               "{\"op\":\"shuffle\"}",
                               ret->path);
}

static void end_sequences(struct sequences *s)
{
    unlink(s->path);
    cw_mem_free(s->nodes);
}

/* Adds the values of an i64 tensor of an item, which are not -1, to what was seen. */
static void see(const struct cw_batch *batch, uint8_t *seen)
{
    const struct cw_field *field = &batch->tensors[0].field;
    const int64_t *values = cw_batch_data(batch, 0);
    size_t bytes = batch->tensors[0].bytes;
    struct cw_ragged_parts parts;
    if (cw_field_is_ragged(field)) {
        assert_int_equal(cw_ragged_split(field, values, bytes, &parts), 0);
        values = parts.values.data;
        bytes = parts.values.bytes;
    }
    for (size_t i = 0; i < bytes / sizeof(*values); i++) {
        if (values[i] == -1)
            continue;
        assert_true(values[i] >= 0 && values[i] < 6000);
        seen[values[i]]++;
    }
}

/* Whatever it is put into, each value comes once. */
static void every_value_comes_once(void **state)
{
    static const char *const behind[] = {
        ",{\"op\":\"pack\",\"length\":7,\"value\":-1}",
        ",{\"op\":\"pack\",\"length\":3,\"value\":-1}",
        ",{\"op\":\"pack\",\"length\":7,\"value\":-1,\"mode\":\"stream\"}",
        ",{\"op\":\"bucket_by_length\",\"bounds\":[2,4],\"sizes\":3,\"value\":-1}",
        ",{\"op\":\"bucket_by_length\",\"bounds\":[2,5],\"tokens\":20,\"value\":-1,"
        "\"fill_to\":\"longest\"}",
        ",{\"op\":\"rebatch\",\"size\":11}",
        ",{\"op\":\"split\",\"length\":3},{\"op\":\"pack\",\"length\":5,\"value\":-1}",
        ",{\"op\":\"unbatch\"},{\"op\":\"batch\",\"size\":5,\"within\":\"item\",\"span\":90},"
        "{\"op\":\"rebatch\",\"size\":11}",
        ",{\"op\":\"pack\",\"length\":4,\"value\":-1,\"span\":70},{\"op\":\"unbatch\"},"
        "{\"op\":\"filter\",\"expr\":\"t >= 0\"}",
        ",{\"op\":\"unbatch\"},{\"op\":\"window\",\"size\":4,\"drop_remainder\":false}",
        ",{\"op\":\"padded_batch\",\"size\":3,\"within\":\"item\",\"value\":-1}"};
    struct sequences sequences;
    (void)state;
    begin_sequences(&sequences);
    for (size_t k = 0; k < CW_ARRAY_LEN(behind); k++) {
        CW_STR_AUTO nodes = {0};
        uint8_t seen[6000] = {0};
        cw_str_addf(&nodes, "%s%s", sequences.nodes, behind[k]);
        struct cw_plan *plan = plan_of(cw_str_text(&nodes), 1);
        for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
            struct cw_batch *batch = item(plan, i);
            see(batch, seen);
            cw_batch_unref(batch);
        }
        for (size_t x = 0; x < 6000; x++)
            if (seen[x] != 1)
                fail_msg("%s: %zu came %d times", behind[k], x, seen[x]);
        cw_plan_unref(plan);
    }
    end_sequences(&sequences);
}

/* With step: 3 each item has a multiple of 3 batches, and every three of them have one length. */
static void batches_of_a_step_have_one_length(void **state)
{
    struct sequences sequences;
    size_t steps = 0;
    (void)state;
    begin_sequences(&sequences);
    cw_autofree char *nodes =
        cw_mem_printf("%s,{\"op\":\"bucket_by_length\",\"bounds\":[1,3],\"tokens\":12,\"step\":3,"
                      "\"fill_to\":\"longest\",\"span\":100}",
                      sequences.nodes);
    struct cw_plan *plan = plan_of(nodes, 1);
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = item(plan, i);
        struct cw_ragged ragged;
        struct cw_err err = {0};
        int64_t length = 0;
        assert_int_equal(batch->elements % 3, 0);
        assert_true(cw_field_is_ragged(&batch->tensors[0].field));
        assert_int_equal(cw_ragged_init(&ragged, &batch->tensors[0].field, &err), 0);
        for (int64_t r = 0; r < (int64_t)batch->elements; r++) {
            struct cw_view row;
            cw_ragged_row(&ragged, cw_batch_data(batch, 0), r, &row);
            assert_true(row.dims[0] > 0 && row.dims[0] * row.dims[1] <= 12);
            assert_true(r % 3 == 0 || row.dims[1] == length);
            length = row.dims[1];
        }
        steps += batch->elements / 3;
        cw_batch_unref(batch);
    }
    assert_true(steps > 50);
    cw_plan_unref(plan);
    end_sequences(&sequences);
}

/* ---- what is bad ---- */

#define ROWS "{\"op\":\"range\",\"stop\":60},{\"op\":\"batch\",\"size\":3}"
/* Sequences of 3 values; of one in five a filter leaves 2, of some none: a window of 3 is too long. */
#define TOO_LONG                                                                                   \
    UNEQUAL ",{\"op\":\"bucket_by_length\",\"bounds\":[3],\"sizes\":2,\"longer\":\"fail\"}"

static void a_bad_row_fails_with_its_name(void **state)
{
    struct cw_plan *plan = plan_of(ROWS ",{\"op\":\"pack\",\"length\":2,\"longer\":\"fail\"}", 1);
    struct cw_err err = {0};
    struct cw_batch *batch = NULL;
    (void)state;
    assert_true(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err) < 0);
    assert_non_null(strstr(err.msg, "node \"pack\" (pack), element 0 ("));
    assert_non_null(strstr(err.msg, "has 3 values, a row has 2"));
    cw_plan_unref(plan);
    plan = plan_of(TOO_LONG, 1); /* behind another operator inside the item */
    assert_true(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err) < 0);
    assert_non_null(strstr(err.msg, "(bucket_by_length), element "));
    assert_non_null(strstr(err.msg, "is 4 long, the last bound is 3"));
    cw_plan_unref(plan);
}

static void bad_rows_are_left_out_and_counted(void **state)
{
    struct cw_plan *plan = plan_of(ROWS ",{\"op\":\"pack\",\"length\":2,\"longer\":\"fail\"}", 1);
    struct cw_batch *batch = NULL;
    (void)state;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_SKIP, &batch, NULL), 0);
    assert_int_equal(batch->elements, 0);
    assert_int_equal(batch->skipped, 20);
    assert_true(cw_bad_list_n(batch->bad) > 0);
    assert_string_equal(cw_bad_list_at(batch->bad, 0)->op, "pack");
    cw_batch_unref(batch);
    cw_plan_unref(plan);
    plan = plan_of(TOO_LONG, 1);
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_SKIP, &batch, NULL), 0);
    assert_true(batch->skipped > 0);
    assert_string_equal(cw_bad_list_at(batch->bad, 0)->op, "bucket_by_length");
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

/* Groups of rows whose shapes differ are bad as a whole. */
static void a_group_of_unlike_rows_is_bad(void **state)
{
    struct cw_plan *plan = plan_of(UNEQUAL ",{\"op\":\"window\",\"size\":3}", 1);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    uint64_t bad = 0, made = 0;
    (void)state;
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        assert_int_equal(cw_exec_run(plan, 0, i, CW_BAD_SKIP, &batch, &err), 0);
        bad += batch->skipped;
        made += batch->elements;
        cw_batch_unref(batch);
    }
    assert_true(bad > 0 && bad % 3 == 0 && made > 0);
    cw_plan_unref(plan);
}

/* ---- what is said of it ---- */

static void the_span_is_in_the_fingerprint(void **state)
{
    struct cw_plan *a = plan_of(RANGE(1000) "," ODD ",{\"op\":\"window\",\"size\":4}", 1);
    struct cw_plan *b =
        plan_of(RANGE(1000) "," ODD ",{\"op\":\"window\",\"size\":4,\"span\":100}", 1);
    (void)state;
    assert_false(cw_hash_eq(cw_plan_info(a)->fingerprint, cw_plan_info(b)->fingerprint));
    assert_int_equal(cw_plan_info(b)->chunk, 100);
    cw_plan_unref(a);
    cw_plan_unref(b);
}

static void nothing_behind_it_is_cached(void **state)
{
    struct cw_plan *plan = plan_of(UNEQUAL ",{\"op\":\"eval\",\"expr\":\"x + 1\"}", 1);
    struct cw_plan_cacheable what;
    (void)state;
    cw_plan_cacheable(plan, node_of(plan, "batch"), &what);
    assert_non_null(strstr(what.why_not, "inside items"));
    cw_plan_cacheable(plan, node_of(plan, "eval"), &what);
    assert_non_null(strstr(what.why_not, "inside items"));
    cw_plan_cacheable(plan, node_of(plan, "filter"), &what);
    assert_null(what.why_not);
    cw_plan_unref(plan);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_show),
                                          cmocka_unit_test(a_window_is_positions),
                                          cmocka_unit_test(windows_are_nested),
                                          cmocka_unit_test(batches_within_items),
                                          cmocka_unit_test(a_dense_batch_stays_dense),
                                          cmocka_unit_test(strings_and_ragged_rows_are_taken_apart),
                                          cmocka_unit_test(what_is_made_draws_by_itself),
                                          cmocka_unit_test(every_value_comes_once),
                                          cmocka_unit_test(batches_of_a_step_have_one_length),
                                          cmocka_unit_test(a_bad_row_fails_with_its_name),
                                          cmocka_unit_test(bad_rows_are_left_out_and_counted),
                                          cmocka_unit_test(a_group_of_unlike_rows_is_bad),
                                          cmocka_unit_test(the_span_is_in_the_fingerprint),
                                          cmocka_unit_test(nothing_behind_it_is_cached)};
CW_TESTS_MAIN(tests)
