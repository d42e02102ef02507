/* SPDX-License-Identifier: Apache-2.0 */
/* The walk with caches at its nodes: the same bytes in every state of the cache, and what is asked
 * of the cache on the way. */
#include "base/mem.h"
#include "fake_cache.h"
#include "plan/program.h"
#include "run.h"
#include "support/cm.h"
#include <string.h>

#define EPOCHS 3
#define NODES_MAX 4
#define RANGE(n) "{\"op\":\"range\",\"stop\":" #n "}"
#define BATCH(n) "{\"op\":\"batch\",\"size\":" #n "}"
#define CACHE "{\"op\":\"cache\",\"name\":\"c\"}"
#define SHUFFLE "{\"op\":\"shuffle\"}"
#define EVAL(name, expr) "{\"op\":\"eval\",\"name\":\"" name "\",\"expr\":\"" expr "\"}"
#define FILTER(name, expr) "{\"op\":\"filter\",\"name\":\"" name "\",\"expr\":\"" expr "\"}"

struct setup {
    const char *nodes;
    const char *cached[NODES_MAX]; /* names, topmost first */
    size_t records;                /* at the topmost after an epoch */
    bool partly;                   /* other elements in each epoch, or the same ones twice */
};
static const struct setup setups[] = {
    {RANGE(500) "," EVAL("e", "x + 3") "," CACHE "," SHUFFLE "," BATCH(64), {"c"}, 500, false},
    {RANGE(500) "," SHUFFLE "," EVAL("e", "x + 3") "," CACHE "," BATCH(7), {"c"}, 500, false},
    {RANGE(100) "," CACHE "," BATCH(10), {"c"}, 100, false},
    {RANGE(100), {"range"}, 100, false},
    /* several at a time, none of them an operator `cache` */
    {RANGE(300) "," EVAL("a", "x * 2") "," SHUFFLE
                                       "," EVAL("b", "x + 1") "," EVAL("d", "x % 17") "," BATCH(16),
     {"d", "b", "range"},
     300,
     false},
    {RANGE(300) "," SHUFFLE ",{\"op\":\"take\",\"count\":100}," EVAL("b", "x + 1") "," BATCH(16),
     {"b"},
     100,
     true},
    {RANGE(90) "," EVAL("a", "x * 2") "," SHUFFLE ",{\"op\":\"repeat\",\"count\":3}," BATCH(16),
     {"a"},
     90,
     true},
    /* filters: in front of it, behind it, both */
    {RANGE(700) "," EVAL("a", "x * 2") "," FILTER("f", "x % 3 == 0") "," EVAL("b",
                                                                              "x + 1") "," BATCH(8),
     {"a"},
     700,
     false},
    {RANGE(700) "," EVAL("a", "x * 2") "," FILTER("f", "x % 3 == 0") "," SHUFFLE "," EVAL(
         "b", "x + 1") "," BATCH(8),
     {"b"},
     700,
     false},
    {RANGE(700) "," FILTER("f", "x % 3 == 0") ",{\"op\":\"take\",\"count\":50}," EVAL(
         "b", "x + 1") "," BATCH(8),
     {"b"},
     700,
     false},
    {RANGE(700) "," EVAL("a", "x * 2") "," FILTER("f", "x % 3 == 0") "," EVAL(
         "b", "x + 1") "," FILTER("g", "x % 2 == 1") "," CACHE "," BATCH(8),
     {"c", "b", "a"},
     700,
     false},
    /* strings, inner batches, batches behind each other */
    {"{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]}," SHUFFLE "," CACHE
     "," BATCH(2),
     {"c"},
     5,
     false},
    {RANGE(104) ",{\"op\":\"batch\",\"name\":\"inner\",\"size\":8}," EVAL(
         "e", "x + 1") "," SHUFFLE "," BATCH(3),
     {"e", "inner", "range"},
     13,
     false},
    {"{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]}," CACHE
     "," BATCH(2) "," SHUFFLE,
     {"c"},
     5,
     false},
    /* zips, and a node that two others read */
    {"{\"op\":\"range\",\"stop\":80,\"field\":\"a\"}," EVAL(
         "ea", "a + 1") ",{\"op\":\"range\",\"stop\":70,\"field\":\"b\",\"name\":\"rb\"},"
                        "{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"ea\",\"rb\"]},"
                        "{\"op\":\"eval\",\"expr\":\"a * b\",\"out\":\"p\",\"name\":\"p\"}," SHUFFLE
                        "," BATCH(16),
     {"p", "z", "ea", "rb"},
     70,
     false},
    {"{\"op\":\"range\",\"stop\":80,\"field\":\"a\"},{\"op\":\"batch\",\"size\":4,\"name\":\"ba\"},"
     "{\"op\":\"range\",\"stop\":20,\"field\":\"b\",\"name\":\"rb\"},{\"op\":\"zip\",\"name\":"
     "\"z\",\"inputs\":[\"ba\",\"rb\"]}," SHUFFLE "," BATCH(3),
     {"z", "ba", "rb", "range"},
     20,
     false},
    {"{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_*.jpg\"},{\"op\":\"read_file\"},"
     "{\"op\":\"zip\",\"inputs\":[\"files\",\"read_file\"]}," SHUFFLE "," BATCH(2),
     {"read_file"},
     0,
     false},
};

struct caches {
    struct cw_cache_node *cache[NODES_MAX];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
