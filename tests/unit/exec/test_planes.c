/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that write their image with channels first, since `layout` comes next: the batches are those
 * of operators that are called one after the other. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/cm.h"
#include "support/fake_cache.h"
#include <string.h>

#define DECODE(channels)                                                                           \
    "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES                                              \
    "/image_4*.jpg\"},{\"op\":\"repeat\",\"count\":5},{\"op\":\"read_file\"},{\"op\":"             \
    "\"decode_image\",\"channels\":" #channels "},{\"op\":\"resize\",\"size\":[40,30]}"
#define NORMALIZE                                                                                  \
    "{\"op\":\"normalize\",\"name\":\"first\",\"mean\":[0.5,0.4,0.3],\"std\":[0.2,0.25,1]}"
#define CAST(to) "{\"op\":\"cast\",\"name\":\"first\",\"dtype\":\"" to "\"}"
/* It changes nothing, and stands where nothing may be done together. */
#define APART "{\"op\":\"emulate\",\"name\":\"apart\",\"ns_per_byte\":0}"
#define LAYOUT "{\"op\":\"layout\",\"name\":\"turn\"}"
#define BACK "{\"op\":\"layout\",\"name\":\"turn\",\"to\":\"hwc\"}"

static const struct {
    const char *before, *between, *behind; /* of the operator called `first`, and of the layout */
    bool together;
    const char *cached;
} cases[] = {
    {DECODE(3) "," NORMALIZE, "", LAYOUT "," BATCH(4), true, NULL},
    {DECODE(3) "," CAST("f32"), "", LAYOUT "," BATCH(4), true, NULL},
    {DECODE(3) "," CAST("f64"), "", LAYOUT, true, NULL},
    {DECODE(3) "," CAST("u8"), "", LAYOUT "," BATCH(4), true, NULL},
    {DECODE(1) ",{\"op\":\"normalize\",\"name\":\"first\"}", "", LAYOUT "," BATCH(4), true, NULL},
    {DECODE(3) ",{\"op\":\"random_flip\"}," NORMALIZE, SHUFFLE ",", LAYOUT "," BATCH(7), true,
     NULL},
    {DECODE(3) "," NORMALIZE, "", LAYOUT "," BATCH(4), true, "turn"},
    {DECODE(3) "," NORMALIZE, "", LAYOUT "," BATCH(4), true, "first"},
    /* with labels */
    {DECODE(3) "," NORMALIZE, "",
     LAYOUT ",{\"op\":\"range\",\"name\":\"r\",\"stop\":60,\"inputs\":[]},{\"op\":\"zip\","
            "\"inputs\":[\"turn\",\"r\"]}," BATCH(4),
     true, NULL},
    {DECODE(3) "," NORMALIZE, "",
     "{\"op\":\"range\",\"name\":\"r\",\"stop\":60,\"inputs\":[]},{\"op\":\"zip\",\"inputs\":"
     "[\"LAST\",\"r\"]},{\"op\":\"layout\",\"name\":\"turn\",\"fields\":[\"image\"]}," BATCH(4),
     false, NULL},
    /* the larger image would have to be turned; channels are not put first */
    {DECODE(3) "," CAST("f32") ",{\"op\":\"cast\",\"name\":\"first2\",\"dtype\":\"u8\"}", "",
     LAYOUT "," BATCH(4), false, NULL},
    {DECODE(3) "," CAST("f32"), "", BACK "," BATCH(4), false, NULL},
};

static char *pipeline_of(size_t c, bool apart)
{
    const char *last = apart ? "apart" : "first", *at = strstr(cases[c].behind, "LAST");
    const int until = at ? (int)(at - cases[c].behind) : (int)strlen(cases[c].behind);
    return cw_mem_printf("%s,%s%s%.*s%s%s", cases[c].before, cases[c].between,
                         apart ? APART "," : "", until, cases[c].behind, at ? last : "",
                         at ? at + 4 : "");
}

static void test_batches(void **state)
{
    (void)state;
    for (size_t c = 0; c < CW_ARRAY_LEN(cases); c++) {
        cw_autofree char *together = pipeline_of(c, false), *apart = pipeline_of(c, true);
        struct cw_plan *plan = plan_of(together, 3), *other = plan_of(apart, 3);
        struct cw_cache_dataset *cache = NULL;
        struct cw_err err = {0};
        if ((plan->nodes[node_of(plan, "first")].planes_to != SIZE_MAX) != cases[c].together)
            fail_msg("case %zu: together, or not", c);
        if (cases[c].cached) {
            const size_t at = node_of(plan, cases[c].cached);
            cache = fake_cache_new(&plan->nodes[at].out);
            assert_int_equal(cw_plan_set_cache(plan, at, cache, true, true, &err), 0);
        }
        const struct cw_hash right = hash_here(other, 1, CW_BAD_FAIL);
        uint64_t rows;
        for (int again = 0; again < 2; again++) /* the second time from the cache */
            if (!cw_hash_eq(hash_here(plan, 1, CW_BAD_FAIL), right) ||
                !cw_hash_eq(hash_pool(plan, 2, 1, CW_BAD_FAIL, &rows), right))
                fail_msg("case %zu: other batches", c);
        cw_plan_unref(plan);
        cw_plan_unref(other);
        if (cache)
            fake_cache_free(cache);
    }
}

/* The operator that is not called counts all the same, and as measured. */
static void test_counts(void **state)
{
    struct cw_exec_count counts[16];
    struct cw_plan *plan = plan_of(DECODE(3) "," NORMALIZE "," LAYOUT "," BATCH(4), 1);
    (void)state;
    (void)hash_here(plan, 0, CW_BAD_FAIL);
    cw_exec_counts(plan, counts);
    const struct cw_exec_count *first = &counts[node_of(plan, "first")],
                               *turn = &counts[node_of(plan, "turn")];
    assert_true(first->elements > 0 && first->elements == turn->elements);
    assert_int_equal(first->bytes_out, turn->bytes_out);
    assert_true(turn->sums.timed >= 1 && turn->sums.timed == first->sums.timed);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
