/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that take elements apart, surveyed: their parts have positions, so everything may follow. Against a
 * loop that takes them apart. */
#include "base/hash.h"
#include "base/mem.h"
#include "ops/source/index_parts.h"
#include "plan/plan_nodes.h"
#include "plan/survey.h"
#include "run.h"
#include "support/checked.h"
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t drawn = 1;

static size_t below(size_t n)
{
    return (size_t)(cw_mix64(++drawn) % n);
}

/* ---- data: a file of lines, sequences of numbers that are all different ---- */

struct sequences {
    char path[64];
    char *source;
    size_t n, *length;
    int64_t *first; /* of each, its first number; the others follow */
};

static void begin_sequences(struct sequences *s, size_t n, size_t most)
{
    *s = (struct sequences){.path = "/tmp/cachew_apart_XXXXXX",
                            .n = n,
                            .length = CW_NEW_ARRAY(size_t, n + 1),
                            .first = CW_NEW_ARRAY(int64_t, n + 1)};
    int fd = mkstemp(s->path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    int64_t at = 100;
    assert_non_null(file);
    for (size_t i = 0; i < n; i++) {
        s->length[i] = below(3) == 0 ? 0 : below(most + 1);
        s->first[i] = at;
        fprintf(file, "{\"id\":%d,\"t\":[", (int)i);
        for (size_t k = 0; k < s->length[i]; k++)
            fprintf(file, "%s%d", k ? "," : "", (int)at++);
        fprintf(file, "]}\n");
    }
    assert_int_equal(fclose(file), 0);
    s->source = cw_mem_printf("{\"op\":\"jsonl\",\"name\":\"docs\",\"pattern\":\"%s\",\"schema\":["
                              "\"t: i64[?]\",\"id: i64\"]}",
                              s->path);
}

static void end_sequences(struct sequences *s)
{
    unlink(s->path);
    cw_mem_free(s->source);
    cw_mem_free(s->length);
    cw_mem_free(s->first);
}

static struct cw_plan *plan_behind(const struct sequences *s, const char *nodes)
{
    cw_autofree char *text = cw_mem_printf("%s%s", s->source, nodes);
    struct cw_plan *plan = plan_of(text, 5);
    assert_false(cw_plan_info(plan)->sparse);
    return plan;
}

/* ---- what a loop makes ---- */

struct numbers {
    int64_t *v;
    size_t n;
};

static void add(struct numbers *numbers, int64_t number)
{
    numbers->v = cw_mem_grow(numbers->v, numbers->n + 1, sizeof(*numbers->v));
    numbers->v[numbers->n++] = number;
}

/* The numbers of parts of `length`, the next of which begins `shift` further; of those sequences only whose number
 * is no multiple of `left_out`; 0: of all. *ret_parts: how many parts there are. */
static struct numbers split(const struct sequences *s, size_t length, size_t shift, size_t left_out,
                            size_t *ret_parts)
{
    struct numbers numbers = {0};
    *ret_parts = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (left_out > 0 && i % left_out == 0)
            continue;
        for (size_t at = 0, end = 0; at < s->length[i] && (at == 0 || end < s->length[i]);
             at += shift) {
            end = CW_MIN(at + length, s->length[i]);
            for (size_t k = at; k < end; k++)
                add(&numbers, s->first[i] + (int64_t)k);
            ++*ret_parts;
        }
    }
    return numbers;
}

static void expect(struct cw_plan *plan, const struct numbers *want)
{
    size_t n = 0;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, want->n);
    if (n > 0)
        assert_memory_equal(rows, want->v, n * sizeof(*rows));
    cw_plan_unref(plan);
}

static void twice(struct numbers *numbers)
{
    const size_t n = numbers->n;
    for (size_t i = 0; i < n; i++)
        add(numbers, numbers->v[i]);
}

/* ---- dense pipelines behind ---- */

static void check_split(const struct sequences *s)
{
    const size_t length = 1 + below(6), shift = 1 + below(length);
    size_t parts;
    struct numbers want = split(s, length, shift, 0, &parts);
    cw_autofree char *all =
        cw_mem_printf(",{\"op\":\"split\",\"length\":%d,\"shift\":%d},{\"op\":\"select\",\"names\":"
                      "\"t\"},{\"op\":\"repeat\",\"count\":2}",
                      (int)length, (int)shift);
    twice(&want);
    struct cw_plan *plan = plan_behind(s, all);
    assert_int_equal(cw_plan_info(plan)->elements, 2 * parts);
    expect(plan, &want);
    cw_mem_free(want.v);
    want = split(s, length, shift, 3, &parts); /* a filter stands before it */
    cw_autofree char *some =
        cw_mem_printf(",{\"op\":\"filter\",\"expr\":\"id %% 3 != 0\"},{\"op\":\"split\",\"length\":"
                      "%d,\"shift\":%d,\"survey\":true},{\"op\":\"select\",\"names\":\"t\"}",
                      (int)length, (int)shift);
    plan = plan_behind(s, some);
    assert_int_equal(cw_plan_info(plan)->elements, parts);
    expect(plan, &want);
    cw_mem_free(want.v);
}

#define UNBATCH ",{\"op\":\"select\",\"names\":\"t\"},{\"op\":\"unbatch\",\"name\":\"u\"}"
#define TIMES_1 ",{\"op\":\"eval\",\"expr\":\"t * 1\",\"out\":\"t\"}"

static void check_unbatch(const struct sequences *s)
{
    struct numbers some = {0};
    size_t parts, taken = 0;
    struct numbers want = split(s, 1, 1, 0, &parts);
    cw_autofree char *batch =
        cw_mem_printf(UNBATCH ",{\"op\":\"batch\",\"size\":%d}" TIMES_1, (int)(1 + below(40)));
    expect(plan_behind(s, batch), &want);
    for (size_t i = 1; i < want.n; i += 3)
        add(&some, want.v[i]);
    expect(plan_behind(s, UNBATCH ",{\"op\":\"shard\",\"num_shards\":3,\"index\":1}"), &some);
    some.n = 0; /* a filter of parts, behind a cut */
    for (; taken < CW_MIN(want.n, (size_t)20); taken++)
        if (want.v[taken] % 3 == 0)
            add(&some, want.v[taken]);
    expect(plan_behind(s, UNBATCH ",{\"op\":\"take\",\"count\":20},{\"op\":\"filter\",\"expr\":"
                                  "\"t % 3 == 0\",\"survey\":true}"),
           &some);
    some.n = 0; /* and without one */
    for (size_t i = 0; i < want.n; i++)
        if (want.v[i] % 3 == 0)
            add(&some, want.v[i]);
    expect(plan_behind(s, UNBATCH ",{\"op\":\"filter\",\"expr\":\"t % 3 == 0\"},{\"op\":\"batch\","
                                  "\"size\":4}" TIMES_1),
           &some);
    /* parts of parts, in the batch of a batch */
    expect(plan_behind(s, ",{\"op\":\"select\",\"names\":\"t\"},{\"op\":\"split\",\"length\":4},"
                          "{\"op\":\"unbatch\",\"name\":\"u\"},{\"op\":\"batch\",\"size\":1},"
                          "{\"op\":\"batch\",\"size\":1}"),
           &want);
    cw_mem_free(some.v);
    cw_mem_free(want.v);
}

static void parts_are_those_of_a_loop(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        struct sequences s;
        begin_sequences(&s, i < 4 ? i : 1 + below(100), i == 5 ? 300 : 1 + below(20));
        check_split(&s);
        check_unbatch(&s);
        end_sequences(&s);
    }
}

/* Both inputs know how many elements they have. */
static void parts_meet_others(void **state)
{
    struct sequences s;
    size_t parts, n = 0;
    (void)state;
    begin_sequences(&s, 90, 9);
    struct numbers want = split(&s, 1, 1, 0, &parts);
    struct cw_plan *plan = plan_behind(
        &s, UNBATCH ",{\"op\":\"range\",\"name\":\"r\",\"stop\":50,\"field\":\"y\"},"
                    "{\"op\":\"zip\",\"inputs\":[\"u\",\"r\"]},{\"op\":\"batch\",\"size\":7}");
    assert_int_equal(cw_plan_info(plan)->elements, CW_MIN(want.n, (size_t)50));
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_memory_equal(rows, want.v, n * sizeof(*rows));
    cw_plan_unref(plan);
    plan = plan_behind(&s, UNBATCH ",{\"op\":\"enumerate\"},{\"op\":\"eval\",\"expr\":\"position\","
                                   "\"out\":\"t\"},{\"op\":\"batch\",\"size\":7}");
    cw_autofree int64_t *places = rows_of(plan, 0, &n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(places[i], i);
    cw_plan_unref(plan);
    cw_mem_free(want.v);
    end_sequences(&s);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Every part once, in another order each time, and neighbours are not parts of one element. */
static void a_shuffle_permutes_parts(void **state)
{
    struct sequences s;
    size_t parts, n[2], near = 0;
    (void)state;
    begin_sequences(&s, 300, 9);
    struct numbers want = split(&s, 1, 1, 0, &parts);
    struct cw_plan *plan =
        plan_behind(&s, UNBATCH ",{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":16}" TIMES_1);
    cw_autofree int64_t *a = rows_of(plan, 0, &n[0]), *b = rows_of(plan, 1, &n[1]);
    assert_int_equal(n[0], want.n);
    assert_int_equal(n[1], want.n);
    assert_memory_not_equal(a, b, n[0] * sizeof(*a));
    for (size_t i = 1; i < n[0]; i++)
        near += a[i] == a[i - 1] + 1;
    assert_true(near < n[0] / 20);
    qsort(a, n[0], sizeof(*a), compare);
    assert_memory_equal(a, want.v, n[0] * sizeof(*a));
    cw_plan_unref(plan);
    cw_mem_free(want.v);
    end_sequences(&s);
}

static void threads_do_not_show(void **state)
{
    static const char *const behind[] = {
        UNBATCH ",{\"op\":\"batch\",\"size\":8}" TIMES_1,
        UNBATCH ",{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":8}" TIMES_1,
        ",{\"op\":\"split\",\"length\":5,\"survey\":true},{\"op\":\"repeat_each\",\"count\":2}"};
    struct sequences s;
    (void)state;
    begin_sequences(&s, 400, 30);
    for (size_t i = 0; i < CW_ARRAY_LEN(behind); i++) {
        struct cw_plan *plan = plan_behind(&s, behind[i]);
        struct cw_hash want = hash_here(plan, 1, CW_BAD_FAIL);
        uint64_t rows;
        assert_true(cw_hash_eq(want, hash_pool(plan, 4, 1, CW_BAD_FAIL, &rows)));
        assert_int_equal(rows, cw_plan_info(plan)->elements);
        cw_plan_unref(plan);
    }
    end_sequences(&s);
}

/* An element's id is what it is inside items, so the same random numbers are drawn behind. */
static void ids_are_those_inside_items(void **state)
{
    static const char text[] =
        "{\"op\":\"range\",\"stop\":5120},{\"op\":\"batch\",\"size\":64},{\"op\":\"batch\","
        "\"size\":2},{\"op\":\"batch\",\"size\":20},{\"op\":\"unbatch\",\"survey\":%s},"
        "{\"op\":\"random_flip\"}";
    size_t n[2] = {0, 0};
    (void)state;
    cw_autofree char *inside = cw_mem_printf(text, "false"),
                     *surveyed = cw_mem_printf(text, "true");
    struct cw_plan *a = plan_of(inside, 5), *b = plan_of(surveyed, 5);
    assert_true(cw_plan_info(a)->sparse);
    assert_false(cw_plan_info(b)->sparse);
    cw_autofree int64_t *want = rows_of(a, 1, &n[0]), *got = rows_of(b, 1, &n[1]);
    assert_int_equal(n[0], 5120);
    assert_int_equal(n[1], 5120);
    assert_memory_equal(want, got, n[0] * sizeof(*want));
    cw_plan_unref(a);
    cw_plan_unref(b);
}

/* Lines of texts, and strings of batches. */
static void strings_are_taken_apart(void **state)
{
    static const char *const nodes[] = {
        "{\"op\":\"from_values\",\"values\":[\"a\\nbb\",\"\",\"ccc\\n\",\"\\nd\"],\"field\":"
        "\"text\"},{\"op\":\"split_lines\"},{\"op\":\"batch\",\"size\":5,\"drop_remainder\":true},"
        "{\"op\":\"repeat\",\"count\":2}",
        "{\"op\":\"from_values\",\"values\":[\"a\",\"bb\",\"ccc\",\"\",\"d\"]},"
        "{\"op\":\"batch\",\"size\":3},{\"op\":\"unbatch\"},{\"op\":\"batch\",\"size\":5,"
        "\"drop_remainder\":true},{\"op\":\"repeat\",\"count\":2}"};
    static const int64_t ends[] = {0, 1, 3, 6, 6, 7};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(nodes); i++) {
        struct cw_plan *plan = plan_of(nodes[i], 1);
        assert_int_equal(cw_plan_info(plan)->items, 2);
        for (uint64_t k = 0; k < 2; k++) {
            struct cw_batch *batch = NULL;
            struct cw_err err = {0};
            if (cw_exec_run(plan, 0, k, CW_BAD_FAIL, &batch, &err) < 0)
                fail_msg("%s", err.msg);
            assert_memory_equal(cw_batch_data(batch, 0), ends, sizeof(ends));
            assert_memory_equal((const char *)cw_batch_data(batch, 0) + sizeof(ends), "abbcccd", 7);
            cw_batch_unref(batch);
        }
        cw_plan_unref(plan);
    }
}

/* ---- what is computed ---- */

static uint64_t computed(struct cw_plan *plan, const char *node)
{
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    cw_exec_counts(plan, counts);
    return counts[node_of(plan, node)].elements;
}

/* In order, an element is computed once for all its parts, though each part is an item of its own; in another
 * order at most once for each part. */
static void elements_are_computed_once(void **state)
{
    struct sequences s;
    size_t parts, used = 0, n = 0;
    (void)state;
    begin_sequences(&s, 300, 12);
    struct numbers want = split(&s, 2, 2, 0, &parts);
    for (size_t i = 0; i < s.n; i++)
        used += s.length[i] > 0;
    struct cw_plan *plan =
        plan_behind(&s, ",{\"op\":\"split\",\"length\":2,\"name\":\"u\",\"survey\":true}");
    cw_mem_free(rows_of(plan, 0, &n));
    assert_int_equal(computed(plan, "docs"), used);
    assert_int_equal(computed(plan, "u"), parts);
    cw_plan_unref(plan);
    plan = plan_behind(&s, ",{\"op\":\"split\",\"length\":2,\"name\":\"u\"},{\"op\":\"shuffle\"}");
    cw_mem_free(rows_of(plan, 0, &n));
    assert_true(computed(plan, "docs") > used && computed(plan, "docs") <= parts);
    assert_int_equal(computed(plan, "u"), parts);
    cw_plan_unref(plan);
    cw_mem_free(want.v);
    end_sequences(&s);
}

/* An element with more bytes than a plan holds for all threads is held by the thread that made it. */
static void large_elements_are_taken_apart(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":9},{\"op\":\"inflate\",\"factor\":1048576},"
                "{\"op\":\"batch\",\"size\":9,\"name\":\"b\"},{\"op\":\"unbatch\",\"survey\":true}",
                1);
    assert_int_equal(cw_plan_info(plan)->items, 9);
    for (uint64_t i = 0; i < 9; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(*(const int64_t *)cw_batch_data(batch, 0), i);
        assert_int_equal(cw_field_count(&batch->tensors[0].field), 1048576);
        cw_batch_unref(batch);
    }
    assert_int_equal(computed(plan, "b"), 1);
    cw_plan_unref(plan);
}

/* ---- bad elements ---- */

/* Element 2 of three has fields of unequal lengths. */
#define UNEQUAL                                                                                    \
    "{\"op\":\"from_values\",\"values\":[\"{\\\"a\\\":[1,2],\\\"b\\\":[1,2]}\","                   \
    "\"{\\\"a\\\":[3],\\\"b\\\":[]}\",\"{\\\"a\\\":[4],\\\"b\\\":[4]}\"],\"field\":\"j\"},"        \
    "{\"op\":\"parse_json\",\"field\":\"j\",\"schema\":[\"a: i64[?]\",\"b: i64[?]\"]},"            \
    "{\"op\":\"select\",\"names\":[\"a\",\"b\"]},{\"op\":\"unbatch\",\"name\":\"u\"},"             \
    "{\"op\":\"batch\",\"size\":1},{\"op\":\"repeat\",\"count\":2}"

static struct cw_plan *prepare(const char *nodes, bool skips_bad)
{
    struct cw_err err = {0};
    struct cw_plan *plan = NULL;
    struct cw_checked *checked = cw_test_must_check(nodes);
    if (cw_plan_prepare(checked, 5, NULL, skips_bad, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    cw_checked_unref(checked);
    return plan;
}

static void what_is_bad_is_left_out_where_jobs_skip_it(void **state)
{
    static const int64_t want[] = {1, 2, 4, 1, 2, 4};
    size_t n = 0;
    (void)state;
    struct cw_plan *plan = prepare(UNEQUAL, true);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 6);
    assert_memory_equal(rows, want, sizeof(want));
    cw_plan_unref(plan);
}

static void what_is_bad_fails_when_its_turn_comes(void **state)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    (void)state;
    struct cw_plan *plan = prepare(UNEQUAL, false);
    assert_int_equal(cw_plan_info(plan)->items, 8);
    for (uint64_t i = 0; i < 8; i++) {
        if (i % 4 != 2) {
            assert_int_equal(cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err), 0);
            cw_batch_unref(batch);
            continue;
        }
        err = (struct cw_err){0};
        assert_true(cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err) < 0);
        if (!strstr(err.msg, "node \"u\" (unbatch), element 1 ") || !strstr(err.msg, "field \"b\""))
            fail_msg("%s", err.msg);
    }
    cw_plan_unref(plan);
}

/* A survey that has counted more than there is. */
static int count_too_many(struct cw_plan *plan, size_t node, int64_t first, size_t n,
                          uint8_t *ret_fates, uint64_t *ret_values, struct cw_err *err)
{
    (void)plan;
    (void)node;
    (void)first;
    (void)err;
    memset(ret_fates, 0, n);
    for (size_t i = 0; i < n; i++)
        ret_values[i] = 3;
    return 0;
}

static void another_number_than_counted_is_told(void **state)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    (void)state;
    cw_survey_set(count_too_many);
    struct cw_plan *plan = prepare(UNEQUAL, false);
    cw_exec_surveys();
    assert_int_equal(cw_plan_info(plan)->items, 18);
    assert_int_equal(cw_exec_run(plan, 0, 1, CW_BAD_FAIL, &batch, &err), 0);
    cw_batch_unref(batch);
    assert_int_equal(cw_exec_run(plan, 0, 2, CW_BAD_FAIL, &batch, &err), CW_E_CORRUPT);
    if (!strstr(err.msg, "makes 2 elements of this one, and made more when it was surveyed"))
        fail_msg("%s", err.msg);
    cw_plan_unref(plan);
}

/* ---- manifests and leases ---- */

static int open_with(const char *nodes, const struct cw_value *manifest, struct cw_plan **ret_plan,
                     struct cw_err *err)
{
    struct cw_checked *checked = cw_test_must_check(nodes);
    int rc = cw_plan_new(checked, 5, manifest, ret_plan, err);
    cw_checked_unref(checked);
    return rc;
}

/* What the manifest says is used, and nothing is computed; of a second survey on top as well. */
static void a_manifest_has_all(void **state)
{
    struct cw_plan *plan = NULL, *other = NULL;
    struct cw_value manifest = {0};
    struct cw_err err = {0};
    struct sequences s;
    (void)state;
    begin_sequences(&s, 700, 40);
    cw_autofree char *nodes = cw_mem_printf(
        "%s" UNBATCH ",{\"op\":\"filter\",\"expr\":\"t %% 3 == 1\"},{\"op\":\"shuffle\"},"
        "{\"op\":\"repeat\",\"count\":2}",
        s.source);
    assert_int_equal(open_with(nodes, NULL, &plan, &err), 0);
    cw_plan_manifest(plan, &manifest);
    cw_survey_set(NULL);
    if (open_with(nodes, &manifest, &other, &err) < 0)
        fail_msg("%s", err.msg);
    cw_exec_surveys();
    assert_true(cw_hash_eq(hash_here(plan, 1, CW_BAD_FAIL), hash_here(other, 1, CW_BAD_FAIL)));
    cw_plan_unref(plan);
    cw_plan_unref(other);
    cw_value_fini(&manifest);
    end_sequences(&s);
}

struct lending {
    struct cw_index_parts *parts;
    unsigned leases;
};

/* Somebody else makes parts as soon as there are any. */
static void on_ready(void *arg)
{
    struct lending *l = arg;
    struct cw_index_lease lease;
    while (l->leases < 3 && cw_index_parts_lease(l->parts, l->leases + 1, 3, &lease)) {
        struct cw_err err = {0};
        const struct cw_value *text = cw_value_get(&lease.options, "graph");
        struct cw_graph *graph = NULL;
        struct cw_checked *checked = NULL;
        if (!text) { /* the index of the file */
            cw_index_parts_leased(l->parts, l->leases + 1, NULL);
            cw_index_lease_fini(&lease);
            return;
        }
        assert_int_equal(cw_graph_parse(text->s, strlen(text->s), "", &graph, &err), 0);
        assert_int_equal(cw_graph_check(graph, &checked, &err), 0);
        if (cw_survey_help(checked, &lease.options, &lease.files, NULL, &err) < 0)
            fail_msg("%s", err.msg);
        cw_index_parts_leased(l->parts, l->leases + 1, &lease.files);
        cw_checked_unref(checked);
        cw_graph_unref(graph);
        cw_index_lease_fini(&lease);
        l->leases++;
    }
}

static void counts_are_leased(void **state)
{
    static const char nodes[] =
        "{\"op\":\"range\",\"stop\":9000},{\"op\":\"window\",\"size\":7,\"shift\":3},{\"op\":"
        "\"unbatch\"},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":8},{\"op\":\"repeat\","
        "\"count\":2}";
    struct lending l = {.leases = 0};
    struct cw_err err = {0};
    struct cw_plan *plan = NULL, *alone = NULL;
    (void)state;
    l.parts = cw_index_parts_new(on_ready, &l);
    struct cw_checked *checked = cw_test_must_check(nodes);
    if (cw_plan_prepare(checked, 5, l.parts, false, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(l.leases, 3);
    assert_int_equal(open_with(nodes, NULL, &alone, &err), 0);
    assert_true(cw_hash_eq(hash_here(plan, 0, CW_BAD_FAIL), hash_here(alone, 0, CW_BAD_FAIL)));
    cw_plan_unref(plan);
    cw_plan_unref(alone);
    cw_checked_unref(checked);
    cw_index_parts_free(l.parts);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts_are_those_of_a_loop),
    cmocka_unit_test(parts_meet_others),
    cmocka_unit_test(a_shuffle_permutes_parts),
    cmocka_unit_test(threads_do_not_show),
    cmocka_unit_test(ids_are_those_inside_items),
    cmocka_unit_test(strings_are_taken_apart),
    cmocka_unit_test(elements_are_computed_once),
    cmocka_unit_test(large_elements_are_taken_apart),
    cmocka_unit_test(what_is_bad_is_left_out_where_jobs_skip_it),
    cmocka_unit_test(what_is_bad_fails_when_its_turn_comes),
    cmocka_unit_test(another_number_than_counted_is_told),
    cmocka_unit_test(a_manifest_has_all),
    cmocka_unit_test(counts_are_leased),
};

int main(void)
{
    cw_exec_surveys();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
