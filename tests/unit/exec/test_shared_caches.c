/* SPDX-License-Identifier: Apache-2.0 */
/* Many pipelines share caches by their keys: what one has kept must be what another would have
 * computed, and nothing may show in the data. The cache compares what is put twice. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/checked.h"
#include "support/fake_cache.h"
#include <string.h>

#define ROUNDS 12
#define PIPELINES 20
#define CACHES_MAX 600

/* Caches of all keys so far. */
struct shelf {
    size_t n;
    struct cw_hash key[CACHES_MAX];
    struct cw_cache_dataset *cache[CACHES_MAX];
};

static struct cw_cache_dataset *cache_of(struct shelf *shelf, const struct cw_plan_cacheable *what)
{
    for (size_t i = 0; i < shelf->n; i++)
        if (cw_hash_eq(shelf->key[i], what->key))
            return shelf->cache[i];
    assert_true(shelf->n < CACHES_MAX);
    shelf->key[shelf->n] = what->key;
    return shelf->cache[shelf->n++] = fake_cache_new(what->out);
}

/* Choices of one pipeline. */
struct dice {
    uint64_t state;
};

static uint64_t roll(struct dice *dice, uint64_t sides)
{
    dice->state = cw_mix64(dice->state + 0x9e3779b97f4a7c15u);
    return (dice->state >> 13) % sides;
}

static void add_index(struct cw_str *text, struct dice *dice)
{
    uint64_t k = roll(dice, 4);
    switch (roll(dice, 9)) {
    case 5:
        cw_str_addf(text, ",{\"op\":\"repeat_each\",\"count\":%d}", (int)(1 + k));
        break;
    case 6:
        cw_str_addf(text, ",{\"op\":\"step\",\"every\":%d,\"offset\":%d}", (int)(1 + k % 2),
                    (int)k);
        break;
    case 7:
        cw_str_addf(text, ",{\"op\":\"enumerate\",\"field\":\"p%d\"}", (int)roll(dice, 100));
        break;
    case 8:
        cw_str_addf(text, ",{\"op\":\"sample\",\"count\":%d}", (int)(20 + 10 * k));
        break;
    case 0:
        cw_str_addf(text, ",{\"op\":\"take\",\"count\":%d}", (int)(20 + 10 * k));
        break;
    case 1:
        cw_str_addf(text, ",{\"op\":\"skip\",\"count\":%d}", (int)k);
        break;
    case 2:
        cw_str_addf(text, ",{\"op\":\"shard\",\"num_shards\":2,\"index\":%d}", (int)(k % 2));
        break;
    case 3:
        cw_str_add(text, ",{\"op\":\"repeat\",\"count\":2}");
        break;
    default:
        cw_str_add(text, ",{\"op\":\"shuffle\"}");
    }
}

static void add_op(struct cw_str *text, struct dice *dice, bool images, int *marks)
{
    switch (roll(dice, images ? 5 : 4)) {
    case 0:
        cw_str_addf(text, ",{\"op\":\"eval\",\"expr\":\"x + %d\"}", (int)roll(dice, 2));
        break;
    case 1:
        cw_str_addf(text, ",{\"op\":\"mark\",\"name\":\"m%d\",\"freeze\":%s}", (*marks)++,
                    roll(dice, 2) ? "true" : "false");
        break;
    case 2:
        add_index(text, dice);
        break;
    case 3:
        if (!images && !roll(dice, 3))
            cw_str_add(text, ",{\"op\":\"filter\",\"expr\":\"x % 5 != 2\"}");
        else
            cw_str_addf(text, ",{\"op\":\"cast\",\"dtype\":\"%s\"}", roll(dice, 2) ? "i32" : "f32");
        break;
    default:
        cw_str_add(text, ",{\"op\":\"random_flip\"}");
    }
}

/* Numbers, or small images made of numbers. */
static void add_source(struct cw_str *text, struct dice *dice, bool images, int first)
{
    cw_str_addf(text, "{\"op\":\"range\",\"start\":%d,\"stop\":%d}", first,
                first + (images ? 160 : 60));
    if (!images)
        return;
    if (!roll(dice, 4))
        add_index(text, dice);
    cw_str_add(text, ",{\"op\":\"batch\",\"size\":3,\"drop_remainder\":true},{\"op\":\"batch\","
                     "\"size\":2,\"drop_remainder\":true}");
}

/* What is there so far, and another source, become inputs of an operator that chooses from them. */
static void add_choice(struct cw_str *text, struct dice *dice, bool images, int depth)
{
    static const char *const ops[] = {"\"concatenate\"", "\"interleave\",\"block\":2",
                                      "\"mix\",\"weights\":[2,1]",
                                      "\"mix\",\"weights\":[1,3],\"stop\":\"last\""};
    cw_str_addf(text, ",{\"op\":\"cast\",\"dtype\":\"i64\",\"name\":\"a%d\"},", depth);
    add_source(text, dice, images, 1000 * depth);
    if (!roll(dice, 2))
        add_index(text, dice);
    cw_str_addf(
        text,
        ",{\"op\":\"cast\",\"dtype\":\"i64\",\"name\":\"b%d\"},{\"inputs\":[\"a%d\",\"b%d\"],"
        "\"op\":%s}",
        depth, depth, depth, ops[roll(dice, 4)]);
}

/* Random operators can be had for images. */
static void make_pipeline(struct cw_str *text, struct dice *dice)
{
    bool images = roll(dice, 2), zip = !images && !roll(dice, 3);
    int marks = 0;
    add_source(text, dice, images, 0);
    for (int depth = 1; !zip && depth < 3 && !roll(dice, 2); depth++)
        add_choice(text, dice, images, depth);
    if (zip) {
        cw_str_add(text, ",{\"op\":\"cast\",\"dtype\":\"i64\",\"name\":\"left\"},{\"op\":\"range\","
                         "\"stop\":70,\"field\":\"y\"}");
        if (!roll(dice, 3))
            add_index(text, dice);
        cw_str_add(text, ",{\"op\":\"cast\",\"dtype\":\"i64\",\"name\":\"right\"},{\"op\":\"zip\","
                         "\"inputs\":[\"left\",\"right\"]},"
                         "{\"op\":\"eval\",\"expr\":\"x * 100 + y\",\"out\":\"x\"}");
    }
    for (uint64_t k = roll(dice, 7); k > 0; k--)
        add_op(text, dice, images, &marks);
    if (roll(dice, 4)) {
        cw_str_addf(text, ",{\"op\":\"batch\",\"size\":%d}", (int)(3 + roll(dice, 3)));
        for (uint64_t k = roll(dice, 4); k > 0; k--)
            add_op(text, dice, false, &marks);
    }
}

static struct cw_plan *try_plan(const char *nodes, uint64_t seed)
{
    struct cw_err err = {0};
    struct cw_checked *checked = cw_test_check(nodes, &err);
    struct cw_plan *plan = NULL;
    if (checked)
        (void)!cw_plan_new(checked, seed, NULL, &plan, NULL);
    cw_checked_unref(checked);
    return plan;
}

/* Data and errors of an epoch, items from last to first. */
static struct cw_hash hash_backwards(struct cw_plan *plan, uint64_t epoch)
{
    struct cw_hasher *hasher = cw_hasher_new();
    for (uint64_t i = cw_plan_info(plan)->items; i-- > 0;) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        cw_exec_prefetch(plan, epoch, i);
        if (cw_exec_run(plan, epoch, i, CW_BAD_FAIL, &batch, &err) == 0)
            cw_batch_hash(batch, hasher);
        cw_hasher_add_str(hasher, err.msg);
        cw_batch_unref(batch);
    }
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

static void use_some(struct cw_plan *plan, struct shelf *shelf, struct dice *dice)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct cw_plan_cacheable what;
        cw_plan_cacheable(plan, i, &what);
        if (what.why_not || roll(dice, 2))
            continue;
        bool read = roll(dice, 3) != 0;
        assert_int_equal(
            cw_plan_set_cache(plan, i, cache_of(shelf, &what), read, !read || roll(dice, 3), NULL),
            0);
    }
}

static void run_pipeline(struct shelf *shelf, struct dice *dice, size_t *ran)
{
    CW_STR_AUTO text = {0};
    make_pipeline(&text, dice);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct cw_plan *plan = try_plan(cw_str_text(&text), seed);
        if (!plan)
            return;
        struct cw_hash plain[2] = {hash_backwards(plan, 0), hash_backwards(plan, 1)};
        for (uint64_t e = 0; e < 4; e++) {
            use_some(plan, shelf, dice);
            if (!cw_hash_eq(plain[e % 2], hash_backwards(plan, e % 2)))
                fail_msg("%s: other data", cw_str_text(&text));
        }
        ++*ran;
        cw_plan_unref(plan);
    }
}

static void test_shared(void **state)
{
    (void)state;
    size_t ran = 0, hits = 0, again = 0, left_out = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct shelf *shelf = CW_NEW(struct shelf);
        struct dice dice = {round};
        for (size_t i = 0; i < PIPELINES; i++)
            run_pipeline(shelf, &dice, &ran);
        for (size_t i = 0; i < shelf->n; i++) {
            struct fake_counts counts = fake_cache_counts(shelf->cache[i]);
            hits += counts.hits;
            again += counts.puts_again;
            left_out += counts.left_out;
            assert_int_equal(counts.puts_bad, 0);
            fake_cache_free(shelf->cache[i]);
        }
        cw_mem_free(shelf);
    }
    assert_true(ran > ROUNDS * PIPELINES / 2 && hits > 1000 && again > 1000 && left_out > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
