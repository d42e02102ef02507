/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of operators that go over an image by strips: the batches, the bad elements and the counters are those
 * of operators that are called one after the other. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "setups.h"
#include "support/cm.h"
#include "support/fake_cache.h"
#include <string.h>

#define OPS_MAX 8
/* Images are so large that runs are worth it (CW_STRIPS_IMAGE_BYTES). */
#define FILES(pattern)                                                                             \
    "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/" pattern                                  \
    "\"},{\"op\":\"repeat\",\"count\":5},{\"op\":\"read_file\"},"
#define DECODE(channels)                                                                           \
    FILES("image_4*.jpg") "{\"op\":\"decode_image\",\"channels\":" #channels "},"
/* images of fixed size that are no result of a resize */
#define FIXED DECODE(3) "{\"op\":\"resize\",\"size\":[305,330]},{\"op\":\"shuffle\"},"
#define OP(op, more) "{\"op\":\"" op "\",\"name\":\"" op "\"" more "}"
#define SIZE(h, w) ",\"size\":[" #h "," #w "]"
#define NORMALIZE OP("normalize", ",\"mean\":[0.5,0.4,0.3],\"std\":[0.2,0.25,1]")
#define FLIP OP("random_flip", "")
#define UPSIDE OP("random_flip", ",\"direction\":\"vertical\"")
#define LAYOUT OP("layout", "")
#define RRC OP("random_resized_crop", SIZE(297, 312))
/* It changes nothing, and stands where nothing may be done together. */
#define APART "{\"op\":\"emulate\",\"ns_per_byte\":0}"

static const struct {
    const char *before, *ops[OPS_MAX];
    size_t run; /* how many operators are together at the first one */
    const char *cached;
} cases[] = {
    {DECODE(3), {RRC, FLIP, NORMALIZE, LAYOUT}, 4, NULL},
    {DECODE(3), {RRC, UPSIDE, NORMALIZE, LAYOUT}, 4, NULL},
    {DECODE(3), {RRC, FLIP, NORMALIZE}, 3, NULL},
    {DECODE(3), {RRC, UPSIDE, LAYOUT}, 3, NULL},
    {DECODE(1), {RRC, FLIP, OP("normalize", ""), LAYOUT}, 0, NULL}, /* small */
    {DECODE(3), {RRC, FLIP, OP("cast", ",\"dtype\":\"f32\""), LAYOUT}, 4, NULL},
    {DECODE(3), {RRC, OP("cast", ",\"dtype\":\"f64\""), NORMALIZE, LAYOUT}, 4, NULL},
    {DECODE(3), {RRC, OP("cast", ",\"dtype\":\"i16\""), UPSIDE}, 3, NULL},
    {DECODE(3),
     {OP("resize", SIZE(364, 361)), OP("random_crop", SIZE(331, 300)), FLIP, NORMALIZE},
     4,
     NULL},
    /* of the resized image only the middle is made */
    {DECODE(3),
     {OP("resize", ",\"size\":350"), OP("center_crop", SIZE(340, 341)), NORMALIZE, LAYOUT},
     4,
     NULL},
    {DECODE(3),
     {OP("resize", ",\"size\":350"), UPSIDE, OP("center_crop", SIZE(340, 341)), NORMALIZE},
     4,
     NULL},
    /* the middle has zeros around it, for some images */
    {DECODE(3),
     {OP("resize", ",\"size\":350"), OP("center_crop", SIZE(370, 360)), NORMALIZE, LAYOUT},
     4,
     NULL},
    {FIXED, {UPSIDE, OP("random_crop", SIZE(300, 293)), NORMALIZE, LAYOUT}, 4, NULL},
    {FIXED, {OP("center_crop", SIZE(390, 333)), FLIP, LAYOUT}, 3, NULL},
    {FIXED, {OP("resize", SIZE(305, 330)), FLIP, NORMALIZE}, 3, NULL}, /* it is that size already */
    {FIXED, {OP("resize", SIZE(305, 290)), FLIP, NORMALIZE}, 3, NULL}, /* one axis alone */
    {FIXED, {OP("resize", SIZE(270, 330)), UPSIDE, NORMALIZE}, 3, NULL},
    {FIXED,
     {OP("resize", SIZE(391, 333) ",\"interpolation\":\"nearest\""), UPSIDE, LAYOUT},
     3,
     NULL},
    {FIXED,
     {OP("resize", SIZE(400, 500) ",\"interpolation\":\"lanczos\""), UPSIDE, LAYOUT},
     3,
     NULL},
    {FIXED, {FLIP, NORMALIZE}, 2, NULL},
    {FIXED, {NORMALIZE, LAYOUT}, 0, NULL}, /* layout's work is done by normalize alone */
    {FIXED, {RRC, LAYOUT, FLIP}, 2, NULL},
    {DECODE(3),
     {OP("resize", ",\"size\":350"), OP("center_crop", SIZE(340, 341)), NORMALIZE, LAYOUT},
     4,
     "resize"},
    {DECODE(3),
     {OP("resize", ",\"size\":350"), OP("center_crop", SIZE(340, 341)), NORMALIZE, LAYOUT},
     4,
     "center_crop"},
    {DECODE(3),
     {OP("resize", ",\"size\":350"), OP("center_crop", SIZE(340, 341)), NORMALIZE, LAYOUT},
     4,
     "layout"},
};

static char *pipeline_of(size_t c, bool apart)
{
    struct cw_str text = {0};
    cw_str_add(&text, cases[c].before);
    for (size_t k = 0; k < OPS_MAX && cases[c].ops[k]; k++) {
        cw_str_addf(&text, "%s%s,", apart && k > 0 ? APART "," : "", cases[c].ops[k]);
    }
    cw_str_add(&text, BATCH(7));
    char *copy = cw_mem_printf("%s", cw_str_text(&text));
    cw_str_fini(&text);
    return copy;
}

/* Where the k-th operator of a case stands. */
static size_t place_of(const struct cw_plan *plan, size_t c, size_t k)
{
    const char *name = strstr(cases[c].ops[k], "\"name\":\"") + 8;
    cw_autofree char *copy = cw_mem_printf("%.*s", (int)(strchr(name, '"') - name), name);
    return node_of(plan, copy);
}

static struct cw_cache_dataset *cache_at(struct cw_plan *plan, const char *name)
{
    const size_t at = node_of(plan, name);
    struct cw_cache_dataset *cache = fake_cache_new(&plan->nodes[at].out);
    struct cw_err err = {0};
    assert_int_equal(cw_plan_set_cache(plan, at, cache, true, true, &err), 0);
    return cache;
}

static void check_case(size_t c)
{
    cw_autofree char *together = pipeline_of(c, false), *apart = pipeline_of(c, true);
    struct cw_plan *plan = plan_of(together, 3), *other = plan_of(apart, 3);
    struct cw_cache_dataset *cache = cases[c].cached ? cache_at(plan, cases[c].cached) : NULL;
    const struct cw_hash right = hash_here(other, 1, CW_BAD_FAIL);
    uint64_t rows;
    if (plan->nodes[place_of(plan, c, 0)].strips_n != cases[c].run)
        fail_msg("case %zu: %zu operators together", c, plan->nodes[place_of(plan, c, 0)].strips_n);
    for (int again = 0; again < 2; again++) /* the second time from the cache */
        if (!cw_hash_eq(hash_here(plan, 1, CW_BAD_FAIL), right) ||
            !cw_hash_eq(hash_pool(plan, 2, 1, CW_BAD_FAIL, &rows), right))
            fail_msg("case %zu: other batches", c);
    cw_plan_unref(plan);
    cw_plan_unref(other);
    if (cache)
        fake_cache_free(cache);
}

static void test_batches(void **state)
{
    (void)state;
    for (size_t c = 0; c < CW_ARRAY_LEN(cases); c++)
        check_case(c);
}

/* An image that an operator in the middle of a run refuses is bad by that operator's message. */
static void test_bad_elements(void **state)
{
    static const char *const pipelines[2] = {
        DECODE(3) "{\"op\":\"resize\",\"size\":340},{\"op\":\"random_crop\",\"name\":\"crop\","
                  "\"size\":[341,330]}," NORMALIZE,
        DECODE(3) "{\"op\":\"resize\",\"size\":340}," APART ",{\"op\":\"random_crop\",\"name\":"
                  "\"crop\",\"size\":[341,330]}," NORMALIZE};
    struct cw_err err[2] = {0};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct cw_plan *plan = plan_of(pipelines[k], 1);
        struct cw_batch *batch = NULL;
        uint64_t item = 0;
        while (item < cw_plan_info(plan)->items &&
               cw_exec_run(plan, 0, item, CW_BAD_FAIL, &batch, &err[k]) == 0) {
            cw_batch_unref(batch);
            item++;
        }
        assert_true(item < cw_plan_info(plan)->items);
        cw_plan_unref(plan);
    }
    assert_non_null(strstr(err[0].msg, "crop"));
    assert_string_equal(err[0].msg, err[1].msg);
}

/* Each operator of a run counts as called, and is measured where the first one is. */
static void test_counts(void **state)
{
    struct cw_exec_count counts[2][16];
    static const char *const names[] = {"random_resized_crop", "random_flip", "normalize",
                                        "layout"};
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        cw_autofree char *pipeline = pipeline_of(0, apart);
        struct cw_plan *plan = plan_of(pipeline, 1);
        struct cw_exec_count all[32];
        (void)hash_here(plan, 0, CW_BAD_FAIL);
        cw_exec_counts(plan, all);
        for (size_t k = 0; k < CW_ARRAY_LEN(names); k++)
            counts[apart][k] = all[node_of(plan, names[k])];
        cw_plan_unref(plan);
    }
    for (size_t k = 0; k < CW_ARRAY_LEN(names); k++) {
        const struct cw_exec_count *mine = &counts[0][k], *right = &counts[1][k];
        assert_int_equal(mine->elements, right->elements);
        assert_int_equal(mine->bytes_out, right->bytes_out);
        assert_int_equal(mine->element_bytes, right->element_bytes);
        assert_true(mine->cpu_ns > 0 && mine->sums.timed >= 1);
        assert_true(mine->sums.timed == counts[0][0].sums.timed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_batches),
                                       cmocka_unit_test(test_bad_elements),
                                       cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
