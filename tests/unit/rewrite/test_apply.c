/* SPDX-License-Identifier: Apache-2.0 */
/* Plans carried out: what comes out, and what is refused. */
#include "policies/optimize.h"
#include "rewrite/apply.h"
#include "rewrite/hoist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan_runs.h"
#include "support/checked.h"

/* Two sources that meet, and a chain of which each neighbour may pass the other or not. */
#define PIPELINE                                                                                   \
    "{\"op\": \"from_values\", \"name\": \"a\", \"values\": [[1, 2], [3, 4], [5, 6], [7, 8]],"     \
    " \"field\": \"v\"},"                                                                          \
    "{\"op\": \"from_values\", \"name\": \"b\", \"values\": [1, 2, 3, 4], \"field\": \"s\"},"      \
    "{\"op\": \"zip\", \"inputs\": [\"a\", \"b\"]},"                                               \
    "{\"op\": \"eval\", \"expr\": \"v * 2\"},"                                                     \
    "{\"op\": \"inflate\", \"name\": \"grow\", \"factor\": 2, \"fields\": \"v\"},"                 \
    "{\"op\": \"filter\", \"expr\": \"s > 1\", \"name\": \"few\"},"                                \
    "{\"op\": \"eval\", \"expr\": \"s + 1\", \"name\": \"next\"},"                                 \
    "{\"op\": \"burn\", \"ms\": 0, \"keep_position\": true},"                                      \
    "{\"op\": \"sleep\", \"ms\": 0, \"depends_on\": \"few\"},"                                     \
    "{\"op\": \"batch\", \"size\": 2}"

static const struct {
    const char *order, *message;
} ORDERS[] = {
    {"a b zip eval grow few next burn sleep batch", NULL},
    {"b a zip eval grow few next burn sleep batch", NULL},
    {"a b zip few eval grow next burn sleep batch", NULL},
    {"a b zip few next grow eval burn sleep batch", NULL},
    {"a b zip eval grow few next burn sleep", "order: node \"batch\" is missing"},
    {"a b zip eval grow few next burn sleep batch eval", "order: \"eval\" stands there twice"},
    {"a b zip eval grow few next burn sleep batch x", "order: the pipeline has no node \"x\""},
    {"a zip b eval grow few next burn sleep batch", "order: \"zip\" (zip) stands before \"b\""},
    {"a b eval zip grow few next burn sleep batch",
     "order: \"eval\" (eval) may not stand before \"zip\" (zip): it is not known well enough"},
    {"eval a b zip grow few next burn sleep batch",
     "order: \"eval\" (eval) may not stand before \"a\" (from_values)"},
    {"a b zip eval grow next few burn sleep batch",
     "order: \"next\" (eval) may not stand before \"few\" (filter): it changes the same field"},
    {"a b zip eval grow few burn next sleep batch",
     "order: \"burn\" (burn) may not stand before \"next\" (eval): it keeps its position"},
    {"a b zip sleep eval grow few next burn batch",
     "order: \"sleep\" (sleep) may not stand before \"few\" (filter): it depends on the other"},
    {"a b zip eval grow few next burn batch sleep",
     "order: \"batch\" (batch) may not stand before \"sleep\" (sleep)"},
};

static void test_orders(void **state)
{
    (void)state;
    struct cw_checked *written = cw_test_must_check(PIPELINE);
    struct cw_hash hash = hash_of(written, CW_BAD_FAIL);

    for (size_t i = 0; i < CW_ARRAY_LEN(ORDERS); i++) {
        struct cw_order_plan plan;
        struct cw_rewritten made;
        struct cw_err err = {0};
        plan_from(ORDERS[i].order, &plan);
        int rc = cw_rewrite(written, &plan, &made, &err);
        if (ORDERS[i].message && !strstr(err.msg, ORDERS[i].message))
            fail_msg("%s: \"%s\" and not \"%s\"", ORDERS[i].order, err.msg, ORDERS[i].message);
        if ((rc == 0) != !ORDERS[i].message)
            fail_msg("%s: %s", ORDERS[i].order, rc ? err.msg : "not refused");
        if (rc == 0 && !cw_hash_eq(hash, hash_of(made.checked, CW_BAD_FAIL)))
            fail_msg("%s: other batches", ORDERS[i].order);
        cw_rewritten_fini(&made);
        cw_order_plan_fini(&plan);
    }
    cw_checked_unref(written);
}

/* ---- a zip whose branches end with operators ---- */

#define BEFORE(LAST)                                                                               \
    "{\"op\": \"from_values\", \"name\": \"a\", \"values\": [[1, 2], [3, 4], [5, 6], [7, 8]],"     \
    " \"field\": \"v\"}, {\"op\": \"eval\", \"name\": \"first\", \"expr\": \"100 % v\"}, " LAST    \
    ","                                                                                            \
    "{\"op\": \"from_values\", \"name\": \"b\", \"values\": [1, 2, 3], \"field\": \"s\"},"         \
    "{\"op\": \"zip\", \"name\": \"zip\", \"inputs\": [\"last\", \"b\"]},"
#define LAST "{\"op\": \"eval\", \"name\": \"last\", \"expr\": \"v * 2\"}"
#define FILTER "{\"op\": \"filter\", \"expr\": \"s > 1\", \"name\": \"few\"}"

/* What may be done behind the zip is done behind a filter on the other branch, though it may refuse an element. */
static const struct {
    const char *nodes, *order, *message;
} ZIPS[] = {
    {BEFORE(LAST) FILTER, "a first last b zip few", NULL},
    {BEFORE(LAST) FILTER, "a b zip few first last", NULL},
    {BEFORE(LAST) FILTER, "a b zip first few last", NULL},
    {BEFORE(LAST) FILTER, "a b first zip few last", NULL},
    {BEFORE(LAST) FILTER, "a last b zip few first",
     "order: \"last\" (eval) stands before \"first\""},
    {BEFORE(LAST) FILTER, "a b zip few last first", "order: \"last\" (eval) may not stand before"},
    /* nothing is gained without a filter, nor by one that reads what the branch makes */
    {BEFORE(LAST) "{\"op\": \"burn\", \"ms\": 0}", "a first b zip last burn",
     "order: \"zip\" (zip) stands before \"last\", which it reads"},
    {BEFORE(LAST) "{\"op\": \"filter\", \"expr\": \"v > 5\"}", "a first b zip last filter",
     "order: \"zip\" (zip) stands before \"last\", which it reads"},
    /* and these stay where they are */
    {BEFORE("{\"op\": \"emulate\", \"name\": \"last\", \"random\": true}") FILTER,
     "a first b zip few last", "order: \"zip\" (zip) stands before \"last\", which it reads"},
    {BEFORE("{\"op\": \"shuffle\", \"name\": \"last\"}") FILTER, "a last b zip few first",
     "order: \"last\" (shuffle) stands before \"first\""},
    {BEFORE("{\"op\": \"burn\", \"ms\": 0, \"name\": \"last\", \"keep_position\": true}") FILTER,
     "a first b zip few last", "order: \"zip\" (zip) stands before \"last\", which it reads"},
    {BEFORE("{\"op\": \"burn\", \"ms\": 0, \"name\": \"last\", \"depends_on\": \"first\"}") FILTER,
     "a first b zip few last", "order: \"zip\" (zip) stands before \"last\", which it reads"},
    {BEFORE("{\"op\": \"eval\", \"name\": \"last\", \"expr\": \"v * 2\", \"out\": \"w\"}") FILTER,
     "a first b zip few last", "order: \"zip\" (zip) stands before \"last\", which it reads"},
};

static void test_zips(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(ZIPS); i++) {
        struct cw_checked *written = cw_test_must_check(ZIPS[i].nodes);
        struct cw_order_plan plan;
        struct cw_rewritten made;
        struct cw_err err = {0};
        plan_from(ZIPS[i].order, &plan);
        int rc = cw_rewrite(written, &plan, &made, &err);
        if (ZIPS[i].message && !strstr(err.msg, ZIPS[i].message))
            fail_msg("%zu: \"%s\" and not \"%s\"", i, err.msg, ZIPS[i].message);
        if ((rc == 0) != !ZIPS[i].message)
            fail_msg("%zu: %s", i, rc ? err.msg : "not refused");
        if (rc == 0 &&
            !cw_hash_eq(hash_of(written, CW_BAD_FAIL), hash_of(made.checked, CW_BAD_FAIL)))
            fail_msg("%zu: other batches", i);
        cw_rewritten_fini(&made);
        cw_order_plan_fini(&plan);
        cw_checked_unref(written);
    }
}

/* So many operators are hoisted as make a chain of which there are plans. */
static void test_hoisted_chain_is_no_longer_than_plans(void **state)
{
    (void)state;
    static const size_t behind[] = {40, CW_OPTIMIZE_NODES_MAX - 8, CW_OPTIMIZE_NODES_MAX};
    static const size_t hoisted[] = {10, 7, 0};
    for (size_t i = 0; i < CW_ARRAY_LEN(behind); i++) {
        CW_STR_AUTO nodes = {0};
        cw_str_add(&nodes, "{\"op\": \"range\", \"stop\": 4, \"name\": \"a\"}");
        for (size_t k = 0; k < 10; k++)
            cw_str_addf(&nodes, ",{\"op\":\"eval\",\"expr\":\"x + 1\",\"name\":\"up%zu\"}", k);
        cw_str_add(&nodes,
                   ",{\"op\":\"from_values\",\"values\":[1,2,3,4],\"field\":\"s\",\"name\":\"b\"}"
                   ",{\"op\":\"zip\",\"name\":\"zip\",\"inputs\":[\"up9\",\"b\"]}," FILTER);
        for (size_t k = 1; k < behind[i]; k++)
            cw_str_addf(&nodes, ",{\"op\":\"eval\",\"expr\":\"s + 1\",\"name\":\"e%zu\"}", k);
        struct cw_checked *written = cw_test_must_check(cw_str_text(&nodes));
        struct cw_checked *made = cw_hoist(written, NULL);
        size_t zip = 0;
        while (made && !cw_str_eq(made->graph->nodes[zip].name, "zip"))
            zip++;
        assert_int_equal(made ? 12 - zip : 0, hoisted[i]);
        cw_checked_unref(made);
        cw_checked_unref(written);
    }
}

static void rewrite(const struct cw_checked *written, const char *order, const char *cache,
                    struct cw_rewritten *ret_made)
{
    struct cw_order_plan plan;
    struct cw_err err = {0};

    plan_from(order, &plan);
    plan.cache = cw_mem_strdup(cache);
    if (cw_rewrite(written, &plan, ret_made, &err) < 0)
        fail_msg("%s: %s", order, err.msg);
    cw_order_plan_fini(&plan);
}

static void test_cache(void **state)
{
    (void)state;
    struct cw_checked *written = cw_test_must_check(
        "{\"op\": \"range\", \"stop\": 4}, {\"op\": \"eval\", \"expr\": \"x + 1\"},"
        "{\"op\": \"filter\", \"expr\": \"x > 2\"}, {\"op\": \"batch\", \"size\": 2}");
    struct cw_rewritten made;
    struct cw_order_plan plan;
    struct cw_err err = {0};

    rewrite(written, "range eval filter batch", "filter", &made);
    assert_int_equal(made.cache, 2);
    assert_null(made.no_cache);
    cw_rewritten_fini(&made);
    rewrite(written, "range eval filter batch", "batch", &made);
    assert_int_equal(made.cache, 3);
    assert_non_null(strstr(made.no_cache, "put it before the batch"));
    cw_rewritten_fini(&made);
    plan_from("range eval filter batch", &plan);
    plan.cache = cw_mem_strdup("x");
    assert_int_equal(cw_rewrite(written, &plan, &made, &err), CW_E_INVALID);
    assert_string_equal(err.msg, "cache: the pipeline has no node \"x\"");
    cw_order_plan_fini(&plan);
    cw_checked_unref(written);
}

/* ---- damaged images ---- */

#define CUTS 40
static const char IMAGE[] = CW_TEST_IMAGES "/image_444.jpg";

/* A JPEG file that has an end marker at each fortieth of its length, and what stands behind it left as it
 * is; the first is sound. */
static void make_images(const char *folder)
{
    unsigned char bytes[65536];
    FILE *from = fopen(IMAGE, "rb");

    assert_non_null(from);
    size_t n = fread(bytes, 1, sizeof(bytes), from);
    assert_int_equal(fclose(from), 0);
    for (size_t i = 0; i < CUTS; i++) {
        cw_autofree char *path = cw_mem_printf("%s/%zu.jpg", folder, i);
        FILE *to = fopen(path, "wb");
        size_t at = n - 1 - (n * i / CUTS);
        unsigned char kept[2] = {bytes[at - 1], bytes[at]};
        assert_non_null(to);
        bytes[at - 1] = 0xff;
        bytes[at] = 0xd9;
        assert_int_equal(fwrite(bytes, 1, n, to), n);
        assert_int_equal(fclose(to), 0);
        bytes[at - 1] = kept[0];
        bytes[at] = kept[1];
    }
}

static void remove_images(const char *folder)
{
    for (size_t i = 0; i < CUTS; i++) {
        cw_autofree char *path = cw_mem_printf("%s/%zu.jpg", folder, i);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static struct cw_checked *images(const char *folder, const char *nodes)
{
    cw_autofree char *text =
        cw_mem_printf("{\"op\": \"files\", \"pattern\": \"%s/*.jpg\"}, {\"op\": \"read_file\"},"
                      "{\"op\": \"decode_image\", \"fields\": \"bytes\"}, %s",
                      folder, nodes);
    return cw_test_must_check(text);
}

/* The upper rows are sound in most of the files, and all of an image only in one. */
#define CROP "{\"op\": \"center_crop\", \"size\": [2, 16]}"
#define CAST "{\"op\": \"cast\", \"dtype\": \"f32\", \"fields\": \"image\"}"

/* Looks at all values of an image, which nothing may pass then. */
#define LOOK "{\"op\": \"eval\", \"expr\": \"image % (image + 1)\"}"

/* Which images are bad is the same wherever a crop stands that may stand there: the decoder looks through
 * what is between them. */
static void test_damaged_images(void **state)
{
    (void)state;
    static const char *const orders[] = {"files read_file decode_image center_crop cast b",
                                         "files read_file decode_image cast b center_crop",
                                         "files read_file b decode_image center_crop cast",
                                         "files read_file decode_image b center_crop cast"};
    char folder[] = "/tmp/cw-plan-XXXXXX";
    assert_non_null(mkdtemp(folder));
    make_images(folder);
    struct cw_checked *written =
        images(folder, CAST ", {\"op\": \"burn\", \"ms\": 0, \"name\": \"b\"}, " CROP);
    struct cw_checked *whole = images(folder, LOOK ", " CAST ", " CROP);
    struct cw_hash hash = hash_of(written, CW_BAD_SKIP);

    for (size_t i = 0; i < CW_ARRAY_LEN(orders); i++) {
        struct cw_rewritten made;
        rewrite(written, orders[i], NULL, &made);
        assert_true(cw_hash_eq(hash, hash_of(made.checked, CW_BAD_SKIP)));
        cw_rewritten_fini(&made);
    }
    assert_false(cw_hash_eq(hash, hash_of(whole, CW_BAD_SKIP))); /* so it would show */
    cw_checked_unref(whole);
    cw_checked_unref(written);
    remove_images(folder);
}

/* A crop does not pass what looks at values that it cuts off. */
static void test_crop_stays(void **state)
{
    (void)state;
    struct cw_checked *written = images("/tmp", LOOK ", " CAST ", " CROP);
    struct cw_order_plan plan;
    struct cw_rewritten made;
    struct cw_err err = {0};

    plan_from("files read_file decode_image center_crop eval cast", &plan);
    assert_int_equal(cw_rewrite(written, &plan, &made, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "cuts values off"));
    cw_order_plan_fini(&plan);
    cw_checked_unref(written);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_orders),     cmocka_unit_test(test_zips),
    cmocka_unit_test(test_cache),      cmocka_unit_test(test_damaged_images),
    cmocka_unit_test(test_crop_stays), cmocka_unit_test(test_hoisted_chain_is_no_longer_than_plans),
};

CW_TESTS_MAIN(tests)
