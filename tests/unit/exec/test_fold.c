/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are not called, since they have no effect or the next one does their work: the batches are those of
 * operators that are called one by one (cw_plan_set_apart), they count as called, and some are called all the same. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/cm.h"
#include "support/fake_cache.h"

#define CAST(name, dtype) "{\"op\":\"cast\",\"name\":\"" name "\",\"dtype\":\"" dtype "\"}"
#define INNER(n) "{\"op\":\"batch\",\"name\":\"inner\",\"drop_remainder\":true,\"size\":" #n "}"
#define NORMALIZE "{\"op\":\"normalize\",\"name\":\"n\",\"mean\":[1,2,3,4],\"std\":[1,2,4,8]}"
#define NOTHING "{\"op\":\"inflate\",\"name\":\"nothing\",\"factor\":1}"
#define STOP "{\"op\":\"emulate\",\"name\":\"stop\",\"ns_per_byte\":0}"

static const struct {
    const char *nodes;
    const char *folded; /* a node that is not called */
    const char *cached; /* a node with a cache, or NULL */
    bool is_called;     /* because of the cache */
} cases[] = {
    {RANGE(40000) "," INNER(4) "," CAST("u", "u8") "," CAST("c", "f32") "," NORMALIZE "," BATCH(64),
     "c", NULL, false},
    /* row by row */
    {RANGE(40000) "," INNER(4) "," CAST("u", "u8") "," CAST("c", "f32") "," NORMALIZE "," STOP
                                                                        "," BATCH(64),
     "c", NULL, false},
    /* c and d fold, and a and c would; but d does not do what a does */
    {RANGE(40000) "," CAST("u", "u8") "," CAST("a", "f32") "," CAST("c", "f64") "," CAST(
         "d", "i8") "," BATCH(64),
     "c", NULL, false},
    {RANGE(40000) "," CAST("u", "u8") "," CAST("a", "u16") "," CAST("c", "i32") "," CAST(
         "d", "f64") "," BATCH(64),
     "c", NULL, false},
    {RANGE(40000) "," CAST("u", "u8") "," CAST("a", "u16") "," SHUFFLE "," CAST(
         "c", "i32") "," STOP "," BATCH(64),
     "a", NULL, false},
    {RANGE(40000) "," INNER(2) "," NOTHING "," BATCH(64), "nothing", NULL, false},
    {RANGE(40000) "," INNER(2) "," CAST("c", "f32") "," NOTHING "," STOP "," BATCH(64), "nothing",
     NULL, false},
    /* a cache gets what the operator makes */
    {RANGE(6000) "," CAST("u", "u8") "," CAST("a", "u16") "," CAST("c", "i32") "," BATCH(64), "a",
     "a", true},
    {RANGE(6000) "," CAST("u", "u8") "," CAST("a", "u16") "," CAST("c", "i32") "," BATCH(64), "a",
     "u", false},
};

static uint64_t folded_of(struct cw_plan *plan, const char *node, uint64_t *ret_elements)
{
    cw_autofree struct cw_exec_count *counts = CW_NEW_ARRAY(struct cw_exec_count, plan->n);
    cw_exec_counts(plan, counts);
    const struct cw_exec_count *count = &counts[node_of(plan, node)];
    *ret_elements = count->elements;
    assert_true(count->sums.timed > 0); /* it is known what it costs */
    return (uint64_t)count->sums.folded;
}

static void test_folds(void **state)
{
    (void)state;
    for (size_t c = 0; c < CW_ARRAY_LEN(cases); c++) {
        struct cw_plan *plan = plan_of(cases[c].nodes, 3), *apart = plan_of(cases[c].nodes, 3);
        struct cw_cache_dataset *cache = NULL;
        struct cw_err err = {0};
        uint64_t elements, called;
        cw_plan_set_apart(apart);
        if (cases[c].cached) {
            const size_t at = node_of(plan, cases[c].cached);
            cache = fake_cache_new(&plan->nodes[at].out);
            assert_int_equal(cw_plan_set_cache(plan, at, cache, true, true, &err), 0);
        }
        const struct cw_hash hash = hash_here(plan, 1, CW_BAD_FAIL);
        if (!cw_hash_eq(hash, hash_here(apart, 1, CW_BAD_FAIL)))
            fail_msg("case %zu: other batches", c);
        const uint64_t folded = folded_of(plan, cases[c].folded, &elements);
        assert_int_equal(folded_of(apart, cases[c].folded, &called), 0);
        if (cases[c].is_called ? folded > 0 : folded < called / 2)
            fail_msg("case %zu: %llu of %llu are not called", c, (unsigned long long)folded,
                     (unsigned long long)called);
        assert_int_equal(elements, called);
        cw_plan_unref(plan);
        cw_plan_unref(apart);
        if (cache)
            fake_cache_free(cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
