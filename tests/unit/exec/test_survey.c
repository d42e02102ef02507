/* SPDX-License-Identifier: Apache-2.0 */
/* Surveyed filters: what comes out of a pipeline that goes on behind one as if it knew what the filter
 * keeps, against a loop that keeps it. */
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "format/kept_index.h"
#include "graph/sparse.h"
#include "ops/source/index_parts.h"
#include "plan/survey.h"
#include "run.h"
#include "support/checked.h"
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

static uint64_t drawn = 1;

static int64_t below(int64_t n)
{
    return (int64_t)(cw_mix64(++drawn) % (uint64_t)n);
}

/* A filter of the numbers below n, and what it keeps. */
struct model {
    int64_t n, modulus;
    int64_t *kept;
    size_t kept_n;
};

static void model_init(struct model *m, int64_t n)
{
    *m = (struct model){
        .n = n, .modulus = 2 + below(9), .kept = CW_NEW_ARRAY(int64_t, (size_t)n + 1)};
    for (int64_t i = 0; i < n; i++)
        if (i % m->modulus == 1 || i % 7 == 3)
            m->kept[m->kept_n++] = i;
}

static struct cw_plan *plan_behind(const struct model *m, const char *before, const char *behind)
{
    cw_autofree char *text = cw_mem_printf("{\"op\":\"range\",\"stop\":%lld}%s,{\"op\":\"filter\","
                                           "\"name\":\"f\",\"expr\":\"x %% %lld == 1 or "
                                           "x %% 7 == 3\"}%s",
                                           (long long)m->n, before, (long long)m->modulus, behind);
    return plan_of(text, 5);
}

static void expect_rows(struct cw_plan *plan, const int64_t *want, size_t want_n)
{
    size_t n = 0;
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_false(cw_plan_info(plan)->sparse);
    assert_int_equal(cw_plan_info(plan)->elements, want_n);
    assert_int_equal(n, want_n);
    assert_memory_equal(rows, want, n * sizeof(*rows));
    cw_plan_unref(plan);
}

static void check_size(int64_t n)
{
    struct model m;
    model_init(&m, n);
    const size_t k = m.kept_n;
    cw_autofree int64_t *want = CW_NEW_ARRAY(int64_t, 2 * k + 1);
    for (size_t i = 0; i < 2 * k; i++)
        want[i] = m.kept[i % k];
    expect_rows(plan_behind(&m, "", ",{\"op\":\"repeat\",\"count\":2}"), want, 2 * k);
    cw_autofree char *batch =
        cw_mem_printf(",{\"op\":\"batch\",\"size\":%lld},{\"op\":\"cast\",\"dtype\":\"i64\"}",
                      (long long)(1 + below(9)));
    expect_rows(plan_behind(&m, "", batch), want, k);
    for (size_t i = 0; 3 * i + 1 < k; i++)
        want[i] = m.kept[3 * i + 1];
    expect_rows(plan_behind(&m, "", ",{\"op\":\"shard\",\"num_shards\":3,\"index\":1}"), want,
                (k + 1) / 3);
    size_t few = 0; /* a second filter behind a cut */
    for (size_t i = 0; i < CW_MIN(k, (size_t)20); i++)
        if (m.kept[i] % 3 == 0)
            want[few++] = m.kept[i];
    expect_rows(plan_behind(&m, "",
                            ",{\"op\":\"take\",\"count\":20},{\"op\":\"filter\",\"expr\":"
                            "\"x % 3 == 0\",\"survey\":true}"),
                want, few);
    cw_mem_free(m.kept);
}

static void gives_what_a_loop_keeps(void **state)
{
    (void)state;
    for (int64_t n = 8; n < 12; n++)
        check_size(n);
    for (size_t i = 0; i < 20; i++)
        check_size(20 + below(3000));
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A shuffle before the filter permutes what is kept: every element once, in another order each time, also if
 * another filter stands between. */
static void a_shuffle_before_permutes_what_is_kept(void **state)
{
    static const char twice[] = ",{\"op\":\"shuffle\"},{\"op\":\"filter\",\"expr\":\"x >= 0\"},"
                                "{\"op\":\"shuffle\",\"name\":\"again\"}";
    static const char *const before[] = {",{\"op\":\"shuffle\"}",
                                         ",{\"op\":\"shuffle\",\"window\":32}", twice};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(before); i++) {
        struct model m;
        size_t n[2] = {0, 0};
        model_init(&m, 700);
        struct cw_plan *plan = plan_behind(&m, before[i], ",{\"op\":\"repeat\",\"count\":2}");
        cw_autofree int64_t *a = rows_of(plan, 0, &n[0]), *b = rows_of(plan, 1, &n[1]);
        assert_int_equal(n[0], 2 * m.kept_n);
        assert_int_equal(n[1], 2 * m.kept_n);
        assert_memory_not_equal(a, b, n[0] * sizeof(*a));
        assert_memory_not_equal(a, a + m.kept_n, m.kept_n * sizeof(*a));
        for (size_t half = 0; half < 2; half++) {
            qsort(a + half * m.kept_n, m.kept_n, sizeof(*a), compare);
            assert_memory_equal(a + half * m.kept_n, m.kept, m.kept_n * sizeof(*a));
        }
        cw_plan_unref(plan);
        cw_mem_free(m.kept);
    }
}

/* Threads compute what one does. */
static void threads_do_not_show(void **state)
{
    struct model m;
    uint64_t rows;
    (void)state;
    model_init(&m, 5000);
    struct cw_plan *plan =
        plan_behind(&m, ",{\"op\":\"shuffle\"}",
                    ",{\"op\":\"batch\",\"size\":32},{\"op\":\"eval\",\"expr\":\"x * "
                    "2\",\"out\":\"x\"}");
    struct cw_hash one = hash_here(plan, 3, CW_BAD_FAIL);
    assert_true(cw_hash_eq(one, hash_pool(plan, 4, 3, CW_BAD_FAIL, &rows)));
    assert_int_equal(rows, m.kept_n);
    cw_plan_unref(plan);
    cw_mem_free(m.kept);
}

/* ---- manifests ---- */

static int open_with(const char *nodes, const struct cw_value *manifest, struct cw_plan **ret_plan,
                     struct cw_err *err)
{
    struct cw_checked *checked = cw_test_must_check(nodes);
    int rc = cw_plan_new(checked, 5, manifest, ret_plan, err);
    cw_checked_unref(checked);
    return rc;
}

#define PIPELINE                                                                                   \
    "{\"op\":\"range\",\"stop\":3000},{\"op\":\"shuffle\"},{\"op\":\"filter\",\"name\":\"f\","     \
    "\"expr\":"                                                                                    \
    "\"x % 5 > 2\"},{\"op\":\"repeat\",\"count\":2}"

/* What the manifest says is used, and nothing is computed. */
static void a_manifest_has_all(void **state)
{
    struct cw_plan *plan = NULL, *other = NULL;
    struct cw_value manifest = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(open_with(PIPELINE, NULL, &plan, &err), 0);
    cw_plan_manifest(plan, &manifest);
    cw_survey_set(NULL);
    if (open_with(PIPELINE, &manifest, &other, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(cw_hash_eq(hash_here(plan, 1, CW_BAD_FAIL), hash_here(other, 1, CW_BAD_FAIL)));
    assert_true(cw_hash_eq(cw_plan_info(plan)->fingerprint, cw_plan_info(other)->fingerprint));
    cw_exec_surveys();
    cw_plan_unref(plan);
    cw_plan_unref(other);
    cw_value_fini(&manifest);
}

/* Without the fates it is made again, and has to be the same. */
static void one_that_differs_is_refused(void **state)
{
    static const char other_sum[] = "00000000000000000000000000000001";
    struct cw_plan *plan = NULL, *other = NULL;
    struct cw_value manifest = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(open_with(PIPELINE, NULL, &plan, &err), 0);
    cw_plan_manifest(plan, &manifest);
    struct cw_value *of_f = cw_value_member(&manifest, "f");
    cw_value_set_object(of_f);
    struct cw_value *said = cw_value_member(of_f, "survey");
    cw_value_set_object(said);
    cw_value_set_i64(cw_value_member(said, "elements"), 3000);
    cw_value_set_i64(cw_value_member(said, "kept"), 1200);
    cw_value_set_i64(cw_value_member(said, "bad"), 0);
    cw_value_set_bool(cw_value_member(said, "skips_bad"), false);
    cw_value_set_str(cw_value_member(said, "sum"), other_sum);
    assert_int_equal(open_with(PIPELINE, &manifest, &other, &err), CW_E_CORRUPT);
    assert_non_null(
        strstr(err.msg, "node \"f\" (filter): the survey of 3000 elements gave another"));
    cw_value_set_i64(cw_value_member(said, "elements"), 2999);
    assert_int_equal(open_with(PIPELINE, &manifest, &other, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "has a survey of 2999 elements"));
    cw_plan_unref(plan);
    cw_value_fini(&manifest);
}

/* ---- bad elements ---- */

/* 7 numbers are bad, since the filter divides by 0; 4 of each ten are kept. */
#define BAD                                                                                        \
    "{\"op\":\"range\",\"stop\":70},{\"op\":\"filter\",\"name\":\"f\",\"expr\":\"100 % (x % 10) "  \
    "== 0\"},"                                                                                     \
    "{\"op\":\"batch\",\"size\":4},{\"op\":\"cast\",\"dtype\":\"i64\"}"

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
    static const int64_t of_ten[] = {1, 2, 4, 5};
    size_t n = 0;
    (void)state;
    struct cw_plan *plan = prepare(BAD, true);
    cw_autofree int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 28);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i], (int64_t)(i / 4) * 10 + of_ten[i % 4]);
    cw_plan_unref(plan);
}

static void what_is_bad_fails_when_its_turn_comes(void **state)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    (void)state;
    struct cw_plan *plan = prepare(BAD, false);
    assert_int_equal(cw_plan_info(plan)->elements, 35);
    assert_true(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err) < 0);
    if (!strstr(err.msg, "node \"f\" (filter), element 0 (number 0)"))
        fail_msg("%s", err.msg);
    err = (struct cw_err){0};
    assert_true(cw_exec_run(plan, 0, 1, CW_BAD_FAIL, &batch, &err) < 0); /* 10 is in it */
    assert_non_null(strstr(err.msg, "element 10 "));
    cw_plan_unref(plan);
}

/* ---- parts ---- */

static struct {
    struct cw_strmap blobs;
    struct cw_mutex mutex;
    unsigned puts;
} kept = {.mutex = CW_MUTEX_INIT};

struct blob {
    void *p;
    size_t n;
};

static bool get(void *arg, uint64_t store, const char *name, size_t most, void **ret_blob,
                size_t *ret_n)
{
    (void)arg;
    (void)store;
    cw_mutex_lock(&kept.mutex);
    const struct blob *blob = cw_strmap_get(&kept.blobs, name);
    if (blob) {
        assert_true(blob->n <= most);
        *ret_blob = cw_mem_dup(blob->p, blob->n);
        *ret_n = blob->n;
    }
    cw_mutex_unlock(&kept.mutex);
    return blob != NULL;
}

static void put(void *arg, uint64_t store, const char *name, const void *bytes, size_t n)
{
    struct blob *blob = CW_NEW(struct blob);
    (void)arg;
    (void)store;
    *blob = (struct blob){cw_mem_dup(bytes, n), n};
    cw_mutex_lock(&kept.mutex);
    kept.puts++;
    assert_null(cw_strmap_get(&kept.blobs, name));
    cw_strmap_set(&kept.blobs, name, blob);
    cw_mutex_unlock(&kept.mutex);
}

static const struct cw_index_keeper keeper = {.get = get, .put = put};

static void forget_blobs(void)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&kept.blobs, &i, &name, &value);) {
        struct blob *blob = value;
        cw_mem_free(blob->p);
        cw_mem_free(blob);
    }
    cw_strmap_fini(&kept.blobs);
}

static unsigned computed;

static int fail_at_last(struct cw_plan *plan, size_t node, int64_t first, size_t n,
                        uint8_t *ret_fates, uint64_t *ret_values, struct cw_err *err)
{
    (void)plan;
    (void)node;
    (void)ret_values;
    if (first + (int64_t)n == 3000)
        return cw_err_set(err, CW_E_IO, "a disk has failed");
    for (size_t i = 0; i < n; i++)
        ret_fates[i] = (first + (int64_t)i) % 5 > 2 ? 0 : 1;
    computed++;
    return 0;
}

static int count_calls(struct cw_plan *plan, size_t node, int64_t first, size_t n,
                       uint8_t *ret_fates, uint64_t *ret_values, struct cw_err *err)
{
    (void)plan;
    (void)node;
    (void)ret_values;
    (void)err;
    for (size_t i = 0; i < n; i++)
        ret_fates[i] = (first + (int64_t)i) % 5 > 2 ? 0 : 1;
    computed++;
    return 0;
}

/* What could not be read is not bad: no survey is made. The parts that were made are found by the next one, and
 * then the whole. */
static void parts_that_are_made_stay(void **state)
{
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    (void)state;
    cw_index_keeper_set(&keeper);
    cw_index_parts_set_at_once(1);
    cw_survey_set(fail_at_last);
    computed = 0;
    assert_int_equal(open_with(PIPELINE, NULL, &plan, &err), CW_E_IO);
    assert_non_null(strstr(err.msg, "a disk has failed"));
    assert_int_equal(computed, 11); /* of 12 parts of 256 */
    cw_survey_set(count_calls);
    computed = 0;
    err = (struct cw_err){0};
    assert_int_equal(open_with(PIPELINE, NULL, &plan, &err), 0);
    assert_int_equal(computed, 1);
    assert_int_equal(cw_plan_info(plan)->elements, 2400);
    cw_plan_unref(plan);
    computed = 0;
    assert_int_equal(open_with(PIPELINE, NULL, &plan, &err), 0);
    assert_int_equal(computed, 0);
    cw_plan_unref(plan);
    cw_index_keeper_set(NULL);
    forget_blobs();
    cw_exec_surveys();
    cw_index_parts_set_at_once(16);
}

/* ---- leases ---- */

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
        assert_string_equal(lease.op, CW_SURVEY_OP);
        const struct cw_value *text = cw_value_get(&lease.options, "graph");
        struct cw_graph *graph = NULL;
        struct cw_checked *checked = NULL;
        assert_int_equal(cw_graph_parse(text->s, strlen(text->s), "", &graph, &err), 0);
        assert_int_equal(cw_graph_check(graph, &checked, &err), 0);
        if (cw_survey_help(checked, &lease.options, &lease.files, NULL, &err) < 0)
            fail_msg("%s", err.msg);
        if (l->leases == 1) /* one comes back with what does not fit */
            cw_value_set_i64(cw_value_member(&lease.files, "files"), 3);
        cw_index_parts_leased(l->parts, l->leases + 1, &lease.files);
        cw_checked_unref(checked);
        cw_graph_unref(graph);
        cw_index_lease_fini(&lease);
        l->leases++;
    }
}

static void parts_are_leased(void **state)
{
    struct lending l = {.leases = 0};
    struct cw_err err = {0};
    struct cw_plan *plan = NULL, *alone = NULL;
    (void)state;
    l.parts = cw_index_parts_new(on_ready, &l);
    struct cw_checked *checked = cw_test_must_check(PIPELINE);
    if (cw_plan_prepare(checked, 5, l.parts, false, NULL, &plan, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(l.leases, 3);
    assert_int_equal(open_with(PIPELINE, NULL, &alone, &err), 0);
    assert_true(cw_hash_eq(hash_here(plan, 0, CW_BAD_FAIL), hash_here(alone, 0, CW_BAD_FAIL)));
    cw_plan_unref(plan);
    cw_plan_unref(alone);
    cw_checked_unref(checked);
    cw_index_parts_free(l.parts);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(gives_what_a_loop_keeps),
    cmocka_unit_test(a_shuffle_before_permutes_what_is_kept),
    cmocka_unit_test(threads_do_not_show),
    cmocka_unit_test(a_manifest_has_all),
    cmocka_unit_test(one_that_differs_is_refused),
    cmocka_unit_test(what_is_bad_is_left_out_where_jobs_skip_it),
    cmocka_unit_test(what_is_bad_fails_when_its_turn_comes),
    cmocka_unit_test(parts_that_are_made_stay),
    cmocka_unit_test(parts_are_leased),
};

int main(void)
{
    cw_exec_surveys();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
