/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffles by blocks, in the engine: in which blocks elements lie behind operators between source and shuffle,
 * what is refused, and that an epoch has every element once, those of some blocks at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/checked.h"

static char dir[] = "/tmp/cachew-test-blocks-XXXXXX";

static char *path_of(const char *name)
{
    return cw_mem_printf("%s/%s", dir, name);
}

static void write_lines(const char *name, int begin, int end)
{
    cw_autofree char *path = path_of(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = begin; i < end; i++)
        assert_true(fprintf(f, "{\"x\": %d}\n", i) > 0);
    assert_int_equal(fclose(f), 0);
}

/* Members of 1,000 lines of 100 bytes, so that each is a stretch. The text of a line is its number. */
static void write_members(const char *name, int members)
{
    cw_autofree char *path = path_of(name);
    for (int m = 0; m < members; m++) {
        gzFile f = gzopen(path, m == 0 ? "wb" : "ab");
        assert_non_null(f);
        for (int i = 0; i < 1000; i++)
            assert_true(gzprintf(f, "{\"x\": %-90d}\n", m * 1000 + i) > 0);
        assert_int_equal(gzclose(f), Z_OK);
    }
}

static int make_files(void **state)
{
    (void)state;
    cw_exec_surveys();
    assert_non_null(mkdtemp(dir));
    write_lines("a.txt", 0, 3);
    write_lines("b.txt", 3, 8);
    write_lines("c.txt", 8, 12);
    write_members("m.jsonl.gz", 40);
    return 0;
}

static int remove_files(void **state)
{
    static const char *const names[] = {"a.txt", "b.txt", "c.txt", "m.jsonl.gz"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = path_of(names[i]);
        assert_int_equal(unlink(path), 0);
    }
    return rmdir(dir);
}

/* The lengths of the blocks, as the manifest of the shuffle has them. */
static void expect_blocks(const char *nodes, const char *want)
{
    struct cw_plan *plan = plan_of(nodes, 5);
    struct cw_value manifest = {0};
    CW_STR_AUTO text = {0};
    cw_plan_manifest(plan, &manifest);
    cw_value_print(cw_value_get(cw_value_get(&manifest, "s"), "blocks"), &text);
    if (strcmp(cw_str_text(&text), want) != 0)
        fail_msg("%s: %s, not %s", nodes, cw_str_text(&text), want);
    cw_value_fini(&manifest);
    cw_plan_unref(plan);
}

#define SHUFFLE "{\"op\":\"shuffle\",\"name\":\"s\",\"blocks\":true}"

/* Of the lines of files with 3, 5 and 4 of them. */
static void expect_behind(const char *between, const char *want)
{
    cw_autofree char *nodes =
        cw_mem_printf("{\"op\":\"jsonl\",\"pattern\":\"%s/*.txt\",\"schema\":["
                      "\"x: i64\"],\"name\":\"in\"},%s" SHUFFLE,
                      dir, between);
    expect_blocks(nodes, want);
}

static void blocks_go_through_what_keeps_the_order(void **state)
{
    (void)state;
    expect_behind("", "[3,5,4]");
    expect_behind("{\"op\":\"cast\",\"dtype\":\"f32\"},{\"op\":\"mark\",\"name\":\"m\"},",
                  "[3,5,4]");
    expect_behind("{\"op\":\"skip\",\"count\":1},{\"op\":\"take\",\"count\":9},", "[2,5,2]");
    expect_behind("{\"op\":\"skip\",\"count\":3},", "[5,4]");
    expect_behind("{\"op\":\"skip\",\"count\":12},", "[]");
    expect_behind("{\"op\":\"step\",\"every\":2},", "[2,2,2]");
    expect_behind("{\"op\":\"step\",\"every\":6},", "[1,1]");
    expect_behind("{\"op\":\"shard\",\"num_shards\":2,\"index\":1},", "[1,3,2]");
    expect_behind("{\"op\":\"repeat_each\",\"count\":2},", "[6,10,8]");
    expect_behind("{\"op\":\"enumerate\"},", "[3,5,4]");
    expect_behind("{\"op\":\"range\",\"stop\":10,\"field\":\"y\",\"name\":\"other\"},"
                  "{\"op\":\"zip\",\"inputs\":[\"in\",\"other\"]},",
                  "[3,5,2]");
    expect_behind(
        "{\"op\":\"take\",\"count\":6,\"name\":\"few\"},"
        "{\"op\":\"concatenate\",\"inputs\":[\"few\",\"in\"]},{\"op\":\"skip\",\"count\":4},",
        "[2,3,5,4]");
    expect_behind("{\"op\":\"filter\",\"expr\":\"x % 4 != 1\"},", "[3,5,4]"); /* not surveyed */
    expect_behind("{\"op\":\"filter\",\"expr\":\"x % 4 != 1\",\"survey\":true},", "[2,4,3]");
}

/* What the formats say, as their writers were told (tests/ops/make_golden_*.py). */
static void formats_say_their_blocks(void **state)
{
    static const struct {
        const char *source, *want;
    } cases[] = {
        {"parquet\",\"pattern\":\"" CW_TEST_IMAGES "/parquet_none_v1.parquet", "[200,100]"},
        {"parquet\",\"pattern\":\"" CW_TEST_IMAGES "/parquet_fastparquet_snappy.parquet",
         "[120,180]"},
        {"arrow\",\"pattern\":\"" CW_TEST_IMAGES "/arrow_feather.arrow", "[70,70,10]"},
        {"tfrecord\",\"pattern\":\"" CW_TEST_IMAGES "/records_*.tfrecord", "[3,2]"},
        {"tfrecord\",\"pattern\":\"" CW_TEST_IMAGES "/packed_*.tfrecord.gz", "[3]"},
        {"webdataset\",\"pattern\":\"" CW_TEST_IMAGES "/wds_p*.tar*", "[40,40]"},
        {"csv\",\"pattern\":\"" CW_TEST_IMAGES "/csv_[ab].csv", "[20,10]"},
        {"chunks\",\"pattern\":\"" CW_TEST_IMAGES "/chunks_*.chunk", "[3,1]"},
        {"hdf5\",\"pattern\":\"" CW_TEST_IMAGES "/hdf5_chunked.h5", "[11]"},
        {"fixed_records\",\"dtype\":\"u16\",\"dims\":[1],\"pattern\":\"" CW_TEST_IMAGES
         "/fixed_u16.bin",
         "[23]"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        cw_autofree char *nodes = cw_mem_printf("{\"op\":\"%s\"}," SHUFFLE, cases[i].source);
        expect_blocks(nodes, cases[i].want);
    }
}

static void expect_refused(const char *nodes, const char *why)
{
    struct cw_err err = {0};
    struct cw_plan *plan = NULL;
    cw_autofree char *text = cw_mem_printf("%s," SHUFFLE, nodes);
    struct cw_checked *checked = cw_test_must_check(text);
    assert_int_equal(cw_plan_new(checked, 1, NULL, &plan, &err), CW_E_INVALID);
    if (!strstr(err.msg, why))
        fail_msg("%s: %s", text, err.msg);
    cw_checked_unref(checked);
}

static void what_has_no_blocks_is_refused(void **state)
{
    cw_autofree char *lines = cw_mem_printf(
        "{\"op\":\"jsonl\",\"pattern\":\"%s/*.txt\",\"schema\":[\"x: i64\"],\"name\":\"in\"}", dir);
    static const struct {
        const char *between, *why;
    } cases[] = {
        {",{\"op\":\"shuffle\"}", "node \"shuffle\" (shuffle) before it does not keep"},
        {",{\"op\":\"repeat\",\"count\":2}", "node \"repeat\" (repeat) before it does not keep"},
        {",{\"op\":\"sample\"}", "(sample) before it does not keep"},
        {",{\"op\":\"batch\",\"size\":2}", "makes one element of several: put the shuffle before"},
        {",{\"op\":\"take\",\"count\":2,\"name\":\"few\"},{\"op\":\"mix\",\"weights\":[1,1],"
         "\"inputs\":[\"in\","
         "\"few\"]}",
         "put the shuffle before that node, one at each of its inputs"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        cw_autofree char *nodes = cw_mem_printf("%s%s", lines, cases[i].between);
        expect_refused(nodes, cases[i].why);
    }
    expect_refused("{\"op\":\"range\",\"stop\":5}", "source \"range\" (range) has no blocks");
}

/* One before a surveyed filter would be done behind it, without what it was opened with. */
static void one_before_a_surveyed_filter_is_refused(void **state)
{
    struct cw_err err = {0};
    struct cw_plan *plan = NULL;
    (void)state;
    cw_autofree char *nodes =
        cw_mem_printf("{\"op\":\"jsonl\",\"pattern\":\"%s/*.txt\",\"schema\":[\"x: "
                      "i64\"]}," SHUFFLE ",{\"op\":\"filter\",\"expr\":\"x > 1\",\"survey\":true}",
                      dir);
    struct cw_checked *checked = cw_test_must_check(nodes);
    assert_int_equal(cw_plan_new(checked, 1, NULL, &plan, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "stands before a filter that is surveyed"));
    cw_checked_unref(checked);
}

#define MEMBERS 40
#define ROWS (MEMBERS * 1000)

static char *of_members(const char *options, const char *behind)
{
    return cw_mem_printf("{\"op\":\"jsonl\",\"pattern\":\"%s/m.jsonl.gz\",\"schema\":[\"x: i64\"]},"
                         "{\"op\":\"shuffle\",\"name\":\"s\"%s},{\"op\":\"batch\",\"size\":100}%s",
                         dir, options, behind);
}

/* How many blocks the elements of a window of `n` rows are from. */
static size_t blocks_of(const int64_t *rows, size_t n)
{
    bool is_there[MEMBERS + 1] = {false};
    size_t blocks = 0;
    for (size_t i = 0; i < n; i++)
        is_there[rows[i] / 1000] = true;
    for (size_t b = 0; b < MEMBERS; b++)
        blocks += is_there[b];
    return blocks;
}

/* A member is a block. 16 of them are mixed at a time, the last 8 as well, and each element comes once. */
static void a_window_has_whole_blocks(void **state)
{
    cw_autofree char *nodes = of_members(",\"blocks\":true", "");
    struct cw_plan *plan = plan_of(nodes, 5);
    size_t n[2] = {0, 0}, equal = 0, follow = 0;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n[0]), *next = rows_of(plan, 1, &n[1]);
    cw_autofree bool *seen = CW_NEW_ARRAY(bool, ROWS);
    (void)state;
    assert_int_equal(n[0], ROWS);
    assert_int_equal(n[1], ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        assert_false(seen[rows[i]]);
        seen[rows[i]] = true;
        equal += rows[i] == next[i];
        follow += i > 0 && rows[i] == rows[i - 1] + 1;
    }
    assert_true(equal < 100 && follow < 100);
    assert_int_equal(blocks_of(rows, 16000), 16);
    assert_int_equal(blocks_of(rows + 16000, 16000), 16);
    assert_int_equal(blocks_of(rows + 32000, 8000), 8);
    assert_true(blocks_of(rows, 1000) > 12); /* mixed, not one after the other */
    cw_plan_unref(plan);
    cw_mem_free(cw_steal(&nodes));
    nodes = of_members(",\"blocks\":true,\"window\":2500", "");
    plan = plan_of(nodes, 5);
    cw_autofree int64_t *few = rows_of(plan, 0, &n[0]);
    for (size_t i = 0; i + 3000 <= ROWS; i += 3000)
        assert_int_equal(blocks_of(few + i, 3000), 3);
    cw_plan_unref(plan);
}

/* What the worker that prepares a job says of the blocks is what all have, and part of the data's fingerprint;
 * a shuffle without `blocks` says nothing, as ever. */
static void blocks_are_those_of_the_manifest(void **state)
{
    struct cw_err err = {0};
    struct cw_value manifest = {0};
    struct cw_plan *again = NULL;
    uint64_t rows = 0;
    (void)state;
    cw_autofree char *nodes = of_members(",\"blocks\":true", ""), *plain = of_members("", "");
    struct cw_plan *plan = plan_of(nodes, 0), *without = plan_of(plain, 0);
    cw_plan_manifest(without, &manifest);
    assert_null(cw_value_get(&manifest, "s"));
    cw_value_fini(&manifest);
    cw_plan_manifest(plan, &manifest);
    struct cw_checked *checked = cw_test_must_check(nodes);
    assert_int_equal(cw_plan_new(checked, 0, &manifest, &again, &err), 0);
    assert_true(cw_hash_eq(cw_plan_info(plan)->fingerprint, cw_plan_info(again)->fingerprint));
    assert_true(
        cw_hash_eq(hash_here(plan, 3, CW_BAD_FAIL), hash_pool(again, 3, 3, CW_BAD_FAIL, &rows)));
    cw_plan_unref(again);
    struct cw_value *said = cw_value_member(&manifest, "s");
    cw_value_set_object(said);
    cw_value_set_i64(cw_value_set_list(cw_value_member(said, "blocks"), 1), ROWS);
    assert_int_equal(cw_plan_new(checked, 0, &manifest, &again, &err), 0);
    assert_false(cw_hash_eq(cw_plan_info(plan)->fingerprint, cw_plan_info(again)->fingerprint));
    cw_plan_unref(again);
    cw_value_set_object(cw_value_member(&manifest, "s"));
    assert_int_equal(cw_plan_new(checked, 0, &manifest, &again, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "node \"s\" (shuffle): its manifest says no blocks"));
    cw_checked_unref(checked);
    cw_value_fini(&manifest);
    cw_plan_unref(plan);
    cw_plan_unref(without);
}

/* Each repetition has an order of its own; positions that ask for more epochs than orders are kept. */
static void repetitions_and_epochs_mix(void **state)
{
    cw_autofree char *nodes = cw_mem_printf(
        "{\"op\":\"jsonl\",\"pattern\":\"%s/*.txt\",\"schema\":[\"x: "
        "i64\"]}," SHUFFLE ",{\"op\":\"repeat\",\"count\":9},{\"op\":\"shuffle\",\"name\":\"all\"}",
        dir);
    struct cw_plan *plan = plan_of(nodes, 5);
    int times[12] = {0};
    size_t n = 0;
    (void)state;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 108);
    for (size_t i = 0; i < n; i++)
        times[rows[i]]++;
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(times[i], 9);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_through_what_keeps_the_order),
        cmocka_unit_test(formats_say_their_blocks),
        cmocka_unit_test(what_has_no_blocks_is_refused),
        cmocka_unit_test(one_before_a_surveyed_filter_is_refused),
        cmocka_unit_test(a_window_has_whole_blocks),
        cmocka_unit_test(blocks_are_those_of_the_manifest),
        cmocka_unit_test(repetitions_and_epochs_mix),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
