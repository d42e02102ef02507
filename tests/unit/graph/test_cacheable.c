/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes may be cached, and what counts in the hash of their elements. */
#include "graph/cacheable.h"
#include "support/checked.h"
#include <stdlib.h>
#include <string.h>

static const struct cw_checked_node *find(const struct cw_checked *checked, const char *name)
{
    for (size_t i = 0; i < checked->graph->n; i++)
        if (cw_str_eq(checked->graph->nodes[i].name, name))
            return &checked->nodes[i];
    fail_msg("there is no node %s", name);
    abort(); /* fail_msg does not say that it does not come back */
}

#define RANGE "{\"op\":\"range\",\"stop\":10}"
#define RANGE_B "{\"op\":\"range\",\"stop\":10,\"field\":\"b\",\"name\":\"rb\"}"
#define SHUFFLE "{\"op\":\"shuffle\"}"
#define TAKE "{\"op\":\"take\",\"count\":5}"
#define BATCH "{\"op\":\"batch\",\"size\":2}"
#define CAST "{\"op\":\"cast\",\"dtype\":\"f32\"}"
#define FILTER "{\"op\":\"filter\",\"expr\":\"x > 3\"}"
#define FILES "{\"op\":\"files\",\"pattern\":\"/data/*.jpg\"}"
#define IMAGES                                                                                     \
    FILES ",{\"op\":\"read_file\"},{\"op\":\"decode_image\"},{\"op\":\"resize\",\"size\":[8,8]}"
#define FLIP "{\"op\":\"random_flip\"}"
#define EMULATE(random) "{\"op\":\"emulate\",\"random\":" random "}"
#define FREEZE "{\"op\":\"mark\",\"name\":\"m\",\"freeze\":true}"
#define MARK "{\"op\":\"mark\",\"name\":\"m\"}"
#define ZIP(a, b) "{\"op\":\"zip\",\"inputs\":[\"" a "\",\"" b "\"]}"

static const struct {
    const char *nodes, *node;
    const char *why; /* a part of the reason; NULL = it may be cached */
} places[] = {
    {RANGE "," SHUFFLE "," TAKE "," CAST "," FILTER "," MARK "," BATCH, "m", NULL},
    {RANGE "," SHUFFLE "," TAKE "," CAST "," FILTER "," MARK "," BATCH, "range", NULL},
    {RANGE "," SHUFFLE "," TAKE "," CAST "," FILTER "," MARK "," BATCH, "batch",
     "put together in the trainer"},
    {RANGE "," BATCH "," FILTER "," BATCH, "batch", NULL},
    {RANGE "," BATCH "," FILTER "," BATCH, "batch_2", "put together in the trainer"},
    {IMAGES "," FLIP "," CAST, "resize", NULL},
    {IMAGES "," FLIP "," CAST, "random_flip", "draws anew in each epoch"},
    {IMAGES "," EMULATE("true") "," CAST, "emulate", "draws anew in each epoch"},
    {IMAGES "," EMULATE("false") "," CAST, "emulate", NULL},
    {IMAGES "," FLIP "," CAST, "cast", "freeze: true"},
    {IMAGES "," FLIP "," CAST "," BATCH, "batch", "draws anew in each epoch"},
    {IMAGES "," FLIP "," CAST "," FREEZE "," FLIP, "random_flip", NULL},
    {IMAGES "," FLIP "," CAST "," FREEZE "," FLIP, "m", NULL},
    {IMAGES "," FLIP "," CAST "," FREEZE "," FLIP, "random_flip_2", "draws anew in each epoch"},
    {IMAGES "," FLIP "," BATCH "," FREEZE, "batch", NULL},
    /* batches are functions of their position, whatever decided which elements are there */
    {RANGE "," TAKE ",{\"op\":\"repeat\",\"count\":2}," BATCH "," SHUFFLE "," CAST, "cast", NULL},
    {RANGE "," SHUFFLE "," BATCH "," FREEZE, "m", "batches of shuffled elements"},
    {RANGE "," BATCH "," SHUFFLE "," BATCH, "batch", NULL},
    {RANGE "," BATCH "," SHUFFLE "," BATCH, "batch_2", "batches of shuffled elements"},
    /* zips */
    {RANGE "," CAST "," RANGE_B "," ZIP("cast", "rb") "," SHUFFLE "," MARK, "m", NULL},
    {RANGE "," TAKE "," RANGE_B "," ZIP("take", "rb") "," MARK, "m", "inputs of a zip"},
    {RANGE "," RANGE_B "," SHUFFLE "," ZIP("range", "shuffle") "," MARK, "m", "inputs of a zip"},
    {RANGE "," TAKE "," BATCH "," RANGE_B "," ZIP("batch", "rb") "," MARK, "m", NULL},
    {RANGE "," TAKE "," RANGE_B "," ZIP("take", "rb") "," BATCH "," MARK, "m", NULL},
    {RANGE "," SHUFFLE "," RANGE_B "," ZIP("shuffle", "rb") "," BATCH "," MARK, "m",
     "batches of shuffled elements"},
    {RANGE "," RANGE_B "," SHUFFLE "," ZIP("range", "shuffle") "," BATCH "," MARK, "m",
     "batches of shuffled elements"},
    /* what a batch heals does not hide what it does not */
    {IMAGES "," FLIP "," TAKE "," RANGE_B
            "," ZIP("take", "rb") ",{\"op\":\"batch\",\"size\":2,\"name\":\"last\"}",
     "last", "draws anew"},
    /* paths */
    {FILES "," SHUFFLE ",{\"op\":\"read_file\"}", "files", "a cached path"},
    {FILES "," SHUFFLE ",{\"op\":\"read_file\"}", "shuffle", "a cached path"},
    {FILES "," SHUFFLE ",{\"op\":\"read_file\"}", "read_file", NULL},
    {FILES "," RANGE_B "," ZIP("files", "rb") ",{\"op\":\"eval\",\"expr\":\"b + 1\"}," MARK
                                              ",{\"op\":\"read_file\"}",
     "m", "a cached path"},
    {FILES "," RANGE_B "," ZIP("files", "rb") ",{\"op\":\"eval\",\"expr\":\"b + 1\"}," MARK
                                              ",{\"op\":\"read_file\"}",
     "read_file", NULL},
    {FILES "," BATCH, "batch", NULL},
    {FILES ",{\"op\":\"read_file\"}," BATCH "," SHUFFLE "," MARK, "m", NULL},
};

static void test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(places); i++) {
        struct cw_checked *checked = cw_test_must_check(places[i].nodes);
        const char *why = find(checked, places[i].node)->uncacheable;
        if (!why != !places[i].why || (why && !strstr(why, places[i].why)))
            fail_msg("%s: %s: %s", places[i].nodes, places[i].node, why ? why : "may be cached");
        cw_checked_unref(checked);
    }
}

static const struct {
    const char *nodes, *says;
} bad[] = {
    {IMAGES "," FLIP ",{\"op\":\"cache\",\"name\":\"c\"}",
     "node \"c\" (cache): elements cannot be cached here: a random operator before it draws anew "
     "in each epoch; put it before"},
    {RANGE "," SHUFFLE "," BATCH ",{\"op\":\"cache\"}",
     "node \"cache\" (cache): elements cannot be cached here: batches of shuffled"},
    {RANGE "," FILTER "," BATCH ",{\"op\":\"cache\"}",
     "put together in the trainer's process; put it before the batch"},
    {FILES ",{\"op\":\"cache\"},{\"op\":\"read_file\"}", "put it behind read_file"},
    {RANGE ",{\"op\":\"mark\"}", "node \"mark\" (mark): needs a `name`"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_err err = {0};
        struct cw_checked *checked = cw_test_check(bad[i].nodes, &err);
        if (checked || !strstr(err.msg, bad[i].says))
            fail_msg("%s: %s", bad[i].nodes, checked ? "no error" : err.msg);
    }
}

/* Frozen is asked before specs meet, so a graph of one's own: 0 random, 1 freezes, 2 reads both. */
static void test_around(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_checked *checked = cw_test_must_check(IMAGES "," FLIP "," FREEZE "," FLIP);
    size_t n = checked->graph->n;
    size_t both[] = {n - 2, n - 3};
    struct cw_checked_node last = checked->nodes[n - 1];
    assert_true(checked->nodes[n - 3].frozen && checked->nodes[0].frozen);
    assert_false(checked->nodes[n - 2].frozen || checked->nodes[n - 1].frozen);
    checked->nodes[n - 1].inputs_n = 2;
    checked->nodes[n - 1].inputs = both;
    assert_int_equal(cw_frozen_find(checked, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "node \"random_flip\" (random_flip): is read through a node "
                                    "with freeze: true and also around it"));
    checked->nodes[n - 1] = last;
    cw_checked_unref(checked);
}

static bool same_element(const char *a, const char *b, const char *node)
{
    struct cw_checked *x = cw_test_must_check(a), *y = cw_test_must_check(b);
    bool same = cw_hash_eq(find(x, node)->element, find(y, node)->element);
    cw_checked_unref(x);
    cw_checked_unref(y);
    return same;
}

static void test_hashes(void **state)
{
    (void)state;
    const char *plain = RANGE "," CAST "," MARK;
    assert_true(same_element(
        plain, RANGE "," SHUFFLE "," TAKE "," CAST ",{\"op\":\"cache\"}," MARK "," BATCH, "m"));
    assert_true(same_element(
        plain, RANGE "," CAST ",{\"op\":\"shard\",\"num_shards\":2,\"index\":1}," MARK "," SHUFFLE,
        "m"));
    assert_false(same_element(plain, "{\"op\":\"range\",\"stop\":11}," CAST "," MARK, "m"));
    assert_false(same_element(plain, RANGE ",{\"op\":\"cast\",\"dtype\":\"f64\"}," MARK, "m"));
    assert_false(same_element(plain, RANGE "," CAST "," CAST "," MARK, "m"));
    assert_false(same_element(plain, RANGE "," CAST "," FILTER "," MARK, "m"));
    /* batches: what chooses positions counts below, not behind */
    const char *batches = RANGE "," BATCH "," MARK;
    assert_true(same_element(batches, RANGE "," BATCH "," SHUFFLE "," MARK "," TAKE, "m"));
    assert_false(same_element(batches, RANGE "," TAKE "," BATCH "," MARK, "m"));
    assert_false(same_element(
        batches, RANGE ",{\"op\":\"shard\",\"num_shards\":1,\"index\":0}," BATCH "," MARK, "m"));
    assert_false(same_element(batches, RANGE ",{\"op\":\"batch\",\"size\":3}," MARK, "m"));
    /* zip: which side is first counts */
    assert_false(same_element(RANGE "," RANGE_B "," ZIP("range", "rb") "," MARK,
                              RANGE "," RANGE_B "," ZIP("rb", "range") "," MARK, "m"));
    /* a frozen operator's name counts, since it names the stream */
    assert_true(same_element(IMAGES "," FLIP "," FREEZE,
                             IMAGES "," FLIP "," FREEZE "," CAST "," BATCH, "m"));
    assert_false(same_element(IMAGES "," FLIP "," FREEZE,
                              IMAGES ",{\"op\":\"random_flip\",\"name\":\"x\"}," FREEZE, "m"));
    assert_false(same_element(IMAGES "," FLIP "," FREEZE, IMAGES "," FLIP "," MARK, "m"));
}

/* Without freeze they are not there. */
static void test_function(void **state)
{
    (void)state;
    assert_true(cw_test_same_function(RANGE "," CAST "," BATCH,
                                      RANGE "," CAST ",{\"op\":\"cache\"}," BATCH "," MARK));
    assert_true(
        cw_test_same_function(IMAGES "," FLIP "," BATCH, IMAGES "," MARK "," FLIP "," BATCH));
    assert_true(
        /* nothing draws before it */
        cw_test_same_function(IMAGES "," FLIP, IMAGES "," FREEZE "," FLIP));
    assert_false(cw_test_same_function(IMAGES "," FLIP, IMAGES "," FLIP "," FREEZE));
    assert_true(cw_test_same_function(IMAGES "," FLIP "," FREEZE,
                                      IMAGES "," FLIP ",{\"op\":\"cache\",\"freeze\":true}"));
    assert_true(cw_test_same_function(RANGE "," FILTER "," BATCH,
                                      RANGE "," FILTER "," MARK "," BATCH
                                            ",{\"op\":\"mark\",\"name\":\"n\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_around),   cmocka_unit_test(test_hashes),
        cmocka_unit_test(test_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
