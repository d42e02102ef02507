/* SPDX-License-Identifier: Apache-2.0 */
/* The walk with caches at its nodes: the same bytes in every state of the cache, and what is asked
 * of the cache on the way. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/cm.h"
#include "support/fake_cache.h"
#include <string.h>

#define EPOCHS 3

struct caches {
    struct cw_cache_dataset *cache[NODES_MAX];
    size_t n;
};

static void make(const struct cw_plan *plan, const struct setup *setup, struct caches *caches)
{
    for (caches->n = 0; caches->n < NODES_MAX && setup->cached[caches->n]; caches->n++)
        caches->cache[caches->n] =
            fake_cache_new(&plan->nodes[node_of(plan, setup->cached[caches->n])].out);
}

static void use(struct cw_plan *plan, const struct setup *setup, const struct caches *caches,
                bool read, bool write)
{
    for (size_t k = 0; k < caches->n; k++) {
        struct cw_err err = {0};
        if (cw_plan_set_cache(plan, node_of(plan, setup->cached[k]), caches->cache[k], read, write,
                              &err))
            fail_msg("%s: %s", setup->nodes, err.msg);
    }
}

static void must_be(const struct setup *setup, const char *when, struct cw_hash a, struct cw_hash b)
{
    if (!cw_hash_eq(a, b))
        fail_msg("%s: other data %s", setup->nodes, when);
}

static void run_setup(const struct setup *setup, size_t threads)
{
    struct cw_plan *plan = plan_of(setup->nodes, 42);
    struct cw_hash hash[EPOCHS];
    struct caches caches;
    uint64_t rows;
    make(plan, setup, &caches);
    for (uint64_t e = 0; e < EPOCHS; e++)
        hash[e] = hash_here(plan, e, CW_BAD_FAIL);
    use(plan, setup, &caches, true, true);
    must_be(setup, "filling", hash[0], hash_pool(plan, threads, 0, CW_BAD_FAIL, &rows));
    struct fake_counts filled = fake_cache_counts(caches.cache[0]);
    if ((setup->records && filled.records != setup->records) || (filled.hits && !setup->partly) ||
        filled.puts_bad)
        fail_msg("%s: %zu records, %zu hits", setup->nodes, filled.records, filled.hits);
    must_be(setup, "full", hash[1], hash_pool(plan, threads, 1, CW_BAD_FAIL, &rows));
    must_be(setup, "full again", hash[0], hash_here(plan, 0, CW_BAD_FAIL));
    struct fake_counts full = fake_cache_counts(caches.cache[0]);
    if (!setup->partly &&
        (full.puts != filled.puts || full.hits + full.left_out != full.gets - filled.gets))
        fail_msg("%s: %zu puts, %zu hits, %zu left out of %zu gets", setup->nodes, full.puts,
                 full.hits, full.left_out, full.gets - filled.gets);
    for (size_t k = 0; k < caches.n; k++)
        fake_cache_forget(caches.cache[k], 3 * k, 5 + 20 * k);
    must_be(setup, "with holes", hash[2], hash_pool(plan, threads, 2, CW_BAD_FAIL, &rows));
    fake_cache_forget(caches.cache[0], 0, UINT64_MAX);
    use(plan, setup, &caches, true, false);
    must_be(setup, "read only", hash[2], hash_pool(plan, threads, 2, CW_BAD_FAIL, &rows));
    if (caches.n == 1 || fake_cache_counts(caches.cache[0]).records)
        assert_int_equal(fake_cache_counts(caches.cache[0]).records, 0);
    use(plan, setup, &caches, false, true);
    must_be(setup, "write only", hash[2], hash_pool(plan, threads, 2, CW_BAD_FAIL, &rows));
    use(plan, setup, &caches, true, true);
    must_be(setup, "full once more", hash[1], hash_pool(plan, threads, 1, CW_BAD_FAIL, &rows));
    for (size_t k = 0; k < caches.n; k++)
        fake_cache_break(caches.cache[k], 2 * k, UINT64_MAX);
    must_be(setup, "whose records break while they are used", hash[1],
            hash_pool(plan, threads, 1, CW_BAD_FAIL, &rows));
    must_be(setup, "filled again after that", hash[0],
            hash_pool(plan, threads, 0, CW_BAD_FAIL, &rows));
    if (fake_cache_counts(caches.cache[0]).puts_bad)
        fail_msg("%s: what was made from a broken record was kept", setup->nodes);
    use(plan, setup, &caches, false, false);
    must_be(setup, "switched off", hash[1], hash_pool(plan, threads, 1, CW_BAD_FAIL, &rows));
    cw_plan_unref(plan);
    for (size_t k = 0; k < caches.n; k++)
        fake_cache_free(caches.cache[k]);
}

static void test_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(setups); i++) {
        run_setup(&setups[i], 1);
        run_setup(&setups[i], 4);
    }
}

/* Rows that are there, and rows that are not, of what fails: bytes and number of bad ones are the
 * same. */
static void test_bad_elements(void **state)
{
    (void)state;
    static const struct setup bad[] = {
        {RANGE(100) "," EVAL("a", "1 % (x % 10)") "," BATCH(16), {"a"}, 90, false},
        {RANGE(100) "," EVAL("a", "1 % (x % 10)") "," EVAL("b", "x + 1") "," BATCH(16),
         {"b", "range"},
         90,
         false},
        {RANGE(100) "," EVAL(
             "a", "1 % (x % 10)") ",{\"op\":\"batch\",\"name\":\"inner\",\"size\":5}," BATCH(4),
         {"inner", "a"},
         10,
         false},
        {RANGE(100) "," EVAL("a", "1 % (x % 30)") "," BATCH(8) "," EVAL("b", "x + 1"),
         {"b", "batch", "a"},
         9,
         false},
        {RANGE(100) "," BATCH(8) "," EVAL("b", "1 % (x % 30)"), {"b", "batch"}, 9, false},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_plan *plan = plan_of(bad[i].nodes, 1);
        struct caches caches;
        uint64_t rows = 0, again = 0;
        make(plan, &bad[i], &caches);
        struct cw_hash plain = hash_pool(plan, 2, 0, CW_BAD_SKIP, &rows);
        use(plan, &bad[i], &caches, true, true);
        for (uint64_t e = 0; e < 2; e++) {
            must_be(&bad[i], "with bad elements", plain,
                    hash_pool(plan, 3, e, CW_BAD_SKIP, &again));
            assert_int_equal(rows, again);
            assert_int_equal(fake_cache_counts(caches.cache[0]).records, bad[i].records);
        }
        struct cw_err err = {0};
        assert_true(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, NULL, &err) < 0);
        assert_non_null(strstr(err.msg, "element 0 (number 0)"));
        cw_plan_unref(plan);
        for (size_t k = 0; k < caches.n; k++)
            fake_cache_free(caches.cache[k]);
    }
}

/* Some of the rows' elements are made of more records than can be held. */
static void test_many_records(void **state)
{
    (void)state;
    static const struct setup many = {
        RANGE(1000) "," EVAL(
            "a", "x + 1") ",{\"op\":\"batch\",\"name\":\"inner\",\"size\":200}," BATCH(5),
        {"a"},
        1000,
        false};
    run_setup(&many, 2);
}

/* A decoder makes the whole image where it is kept, and only a part where nobody keeps it. */
static void test_partly_decoded(void **state)
{
    (void)state;
    static const char *const cached[] = {"decode_image", "shuffle", "c", "read_file",
                                         "random_resized_crop"};
    static const char nodes[] =
        "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES
        "/image_4*.jpg\"},{\"op\":\"repeat\",\"count\":8},"
        "{\"op\":\"read_file\"},{\"op\":\"decode_image\",\"channels\":3}," SHUFFLE "," CACHE
        ",{\"op\":\"random_resized_crop\",\"size\":[9,7]}," BATCH(5);
    struct cw_plan *plan = plan_of(nodes, 5);
    struct cw_hash plain[2] = {hash_here(plan, 0, CW_BAD_FAIL), hash_here(plan, 1, CW_BAD_FAIL)};
    assert_int_equal(plan->nodes[node_of(plan, "decode_image")].want[0].node,
                     node_of(plan, "random_resized_crop"));
    for (size_t k = 0; k < CW_ARRAY_LEN(cached); k++) {
        struct setup setup = {nodes, {cached[k]}, 0, false};
        struct cw_err err = {0};
        size_t node = node_of(plan, cached[k]);
        struct cw_cache_dataset *cache = fake_cache_new(&plan->nodes[node].out);
        int rc = cw_plan_set_cache(plan, node, cache, true, true, &err);
        assert_int_equal(rc, k == 4 ? CW_E_INVALID : 0);
        for (uint64_t e = 0; e < 2; e++) {
            uint64_t rows = 0;
            must_be(&setup, "with images", plain[e], hash_pool(plan, 2, e, CW_BAD_FAIL, &rows));
        }
        struct fake_counts counts = fake_cache_counts(cache);
        if (rc == 0 &&
            (!counts.hits || counts.puts_bad || counts.hits + counts.puts != counts.gets))
            fail_msg("%s: %zu hits, %zu puts, %zu bad", cached[k], counts.hits, counts.puts,
                     counts.puts_bad);
        assert_int_equal(cw_plan_set_cache(plan, node, NULL, false, false, &err), 0);
        cw_plan_unref(plan);
        fake_cache_free(cache);
        plan = plan_of(nodes, 5);
    }
    cw_plan_unref(plan);
}

/* A crop that refuses an image is named, although it is asked while the image is decoded. */
static void test_crop_refuses(void **state)
{
    struct cw_plan *plan = plan_of("{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES
                                   "/image_4*.jpg\"},{\"op\":\"read_file\"},{\"op\":"
                                   "\"decode_image\"},{\"op\":\"random_flip\"},{\"op\":"
                                   "\"random_crop\",\"size\":[5000,5000]}," BATCH(2),
                                   1);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err), CW_E_INVALID);
    if (!strstr(err.msg, "node \"random_crop\" (random_crop), element 0 "))
        fail_msg("%s", err.msg);
    cw_plan_unref(plan);
}

/* Random operators below a freeze draw once and for all, cached or not; those above it as ever. */
static void test_freeze(void **state)
{
    (void)state;
    static const struct setup setup = {
        "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES
        "/image_4*.jpg\"},{\"op\":\"read_file\"},{\"op\":\"decode_image\",\"channels\":3},"
        "{\"op\":\"random_resized_crop\",\"name\":\"crop\",\"size\":[9,7]},{\"op\":\"cache\","
        "\"name\":\"c\",\"freeze\":true},"
        "{\"op\":\"repeat\",\"count\":4}," BATCH(4),
        {"c", "crop", "decode_image"},
        0,
        true};
    cw_autofree char *flipped =
        cw_mem_printf("%.*s{\"op\":\"random_flip\"}," BATCH(4),
                      (int)(strlen(setup.nodes) - strlen(BATCH(4))), setup.nodes);
    struct cw_plan *plan = plan_of(setup.nodes, 9);
    uint64_t rows = 0;
    struct cw_hash first = hash_here(plan, 0, CW_BAD_FAIL);
    must_be(&setup, "in another epoch", first, hash_here(plan, 3, CW_BAD_FAIL));
    struct caches caches;
    make(plan, &setup, &caches);
    use(plan, &setup, &caches, true, true);
    must_be(&setup, "filling", first, hash_pool(plan, 3, 5, CW_BAD_FAIL, &rows));
    must_be(&setup, "full", first, hash_pool(plan, 3, 6, CW_BAD_FAIL, &rows));
    assert_true(fake_cache_counts(caches.cache[0]).hits > 0);
    cw_plan_unref(plan);
    plan = plan_of(flipped, 9);
    struct cw_hash other = hash_here(plan, 0, CW_BAD_FAIL);
    assert_false(cw_hash_eq(other, hash_here(plan, 3, CW_BAD_FAIL)));
    cw_plan_unref(plan);
    for (size_t k = 0; k < caches.n; k++)
        fake_cache_free(caches.cache[k]);
}

/* What is asked for ahead is what the item then finds, at the topmost node that has it. */
static void test_prefetch(void **state)
{
    (void)state;
    static const struct setup setup[] = {
        {RANGE(500) "," EVAL("a", "x * 2") "," SHUFFLE "," EVAL("b", "x + 1") "," BATCH(64),
         {"b", "a"},
         0,
         false},
        {"{\"op\":\"range\",\"stop\":80,\"field\":\"a\"},{\"op\":\"batch\",\"size\":4,\"name\":"
         "\"ba\"},"
         "{\"op\":\"range\",\"stop\":20,\"field\":\"b\",\"name\":\"rb\"},{\"op\":\"zip\",\"name\":"
         "\"z\",\"inputs\":[\"ba\",\"rb\"]}," SHUFFLE "," BATCH(3),
         {"z", "rb", "range"},
         0,
         false},
        {RANGE(100) "," EVAL("e", "x + 1") "," BATCH(8) "," SHUFFLE "," EVAL("h", "x * 3"),
         {"h", "shuffle", "e"},
         0,
         false},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(setup); i++) {
        struct cw_plan *plan = plan_of(setup[i].nodes, 3);
        struct caches caches;
        make(plan, &setup[i], &caches);
        use(plan, &setup[i], &caches, true, true);
        hash_here(plan, 0, CW_BAD_FAIL);
        fake_cache_forget(caches.cache[0], 3, 11);
        use(plan, &setup[i], &caches, true, false);
        for (uint64_t item = 0; item < cw_plan_info(plan)->items; item++) {
            struct fake_counts before[NODES_MAX];
            for (size_t k = 0; k < caches.n; k++)
                before[k] = fake_cache_counts(caches.cache[k]);
            cw_exec_prefetch(plan, 1, item);
            assert_int_equal(cw_exec_run(plan, 1, item, CW_BAD_FAIL, NULL, NULL), 0);
            for (size_t k = 0; k < caches.n; k++) {
                struct fake_counts now = fake_cache_counts(caches.cache[k]);
                if (now.hits - before[k].hits != now.prefetched - before[k].prefetched)
                    fail_msg("%s: %s, item %d: %zu asked for, %zu found", setup[i].nodes,
                             setup[i].cached[k], (int)item, now.prefetched - before[k].prefetched,
                             now.hits - before[k].hits);
            }
        }
        assert_true(fake_cache_counts(caches.cache[0]).prefetched > 0);
        cw_exec_prefetch(plan, 1, cw_plan_info(plan)->items);
        cw_plan_unref(plan);
        for (size_t k = 0; k < caches.n; k++)
            fake_cache_free(caches.cache[k]);
    }
}

/* Of shuffled elements each is touched before it is got, at the topmost cache that is read. */
static void test_touch(void **state)
{
    (void)state;
    static const struct setup setup = {
        RANGE(500) "," EVAL("a", "x * 2") "," SHUFFLE "," EVAL("b", "x + 1") "," BATCH(100),
        {"b", "a"},
        0,
        false};
    struct cw_plan *plan = plan_of(setup.nodes, 3);
    struct caches caches;
    make(plan, &setup, &caches);
    use(plan, &setup, &caches, true, true);
    hash_here(plan, 0, CW_BAD_FAIL);
    hash_here(plan, 1, CW_BAD_FAIL);
    struct fake_counts upper = fake_cache_counts(caches.cache[0]);
    assert_int_equal(upper.hits, 500);
    assert_int_equal(upper.touched, 500);
    assert_int_equal(fake_cache_counts(caches.cache[1]).touched, 0);
    cw_plan_unref(plan);
    for (size_t k = 0; k < caches.n; k++)
        fake_cache_free(caches.cache[k]);
}

/* What an element costs and weighs at each node. */
static void test_counts(void **state)
{
    (void)state;
    static const struct setup setup = {RANGE(100) ",{\"op\":\"cast\",\"dtype\":\"f32\"}," CACHE
                                                  ",{\"op\":\"sleep\",\"ms\":1}," SHUFFLE
                                                  "," BATCH(16),
                                       {"c"},
                                       0,
                                       false};
    struct cw_plan *plan = plan_of(setup.nodes, 3);
    struct cw_exec_count counts[6];
    struct caches caches;
    make(plan, &setup, &caches);
    use(plan, &setup, &caches, true, true);
    hash_here(plan, 0, CW_BAD_FAIL);
    hash_here(plan, 1, CW_BAD_FAIL);
    cw_exec_counts(plan, counts);
    const uint64_t elements[] = {100, 100, 100, 200, 200, 14},
                   bytes[] = {800, 400, 400, 800, 800, 800};
    for (size_t i = 0; i < CW_ARRAY_LEN(counts); i++) {
        assert_int_equal(counts[i].elements, elements[i]);
        assert_int_equal(counts[i].element_bytes, bytes[i]);
        assert_int_equal(counts[i].hits, i == 2 ? 100 : 0);
    }
    assert_true(counts[3].wall_ns >= 100 * 1000000u);
    assert_true(counts[3].wall_ns > counts[3].cpu_ns);
    cw_plan_unref(plan);
    fake_cache_free(caches.cache[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),       cmocka_unit_test(test_bad_elements),
        cmocka_unit_test(test_many_records), cmocka_unit_test(test_partly_decoded),
        cmocka_unit_test(test_crop_refuses), cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_prefetch),     cmocka_unit_test(test_touch),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
