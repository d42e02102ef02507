/* SPDX-License-Identifier: Apache-2.0 */
/* Checked graphs: errors, specs, flags, fingerprints. */
#include "graph/check.h"
#include "graph/item_size.h"
#include "graph/sparse.h"
#include "support/checked.h"
#include <string.h>

#define RANGE "{\"op\":\"range\",\"stop\":10}"
/* Which elements come to the filter is another choice in each epoch, so it cannot be surveyed. */
#define CHOSEN "{\"op\":\"shuffle\"},{\"op\":\"take\",\"count\":9}"
#define BATCHES                                                                                    \
    ",{\"op\":\"batch\",\"size\":3,\"drop_remainder\":true},{\"op\":\"batch\",\"size\":2}"
#define PARTS ",{\"op\":\"unbatch\",\"name\":\"u\"}"
#define FILTER "{\"op\":\"filter\",\"expr\":\"x > 3\",\"name\":\"f\"}"

static const struct {
    const char *nodes, *says;
} bad[] = {
    {"{\"op\":\"rang\"}",
     "node \"rang\" (rang): there is no such operator; did you mean \"range\"?"},
    {"{\"op\":\"to_something_else\"}", "there is no such operator: `cachew ops` lists them"},
    {RANGE ",{\"op\":\"decode_jpeg\"}", "no such operator; did you mean \"decode_image\"?"},
    {"{\"op\":\"range\",\"sto\":3}", "did you mean \"stop\"?"},
    {"{\"op\":\"range\",\"stop\":\"x\",\"name\":\"r\"}", "node \"r\" (range): "},
    {"{\"op\":\"range\",\"stop\":4,\"step\":0}", "node \"range\" (range): option step"},
    {"{\"op\":\"batch\",\"size\":4}", "begins with a source"},
    {RANGE ",{\"op\":\"range\",\"stop\":3,\"inputs\":[\"range\"]}", "a source reads no other node"},
    {RANGE "," RANGE ",{\"op\":\"batch\",\"size\":3}", "node \"range\" (range): no node reads it"},
    {RANGE ",{\"op\":\"zip\"}", "node \"zip\" (zip): inputs: takes 2 to "},
    {RANGE ",{\"op\":\"batch\",\"size\":3,\"fields\":\"x\"}", "node \"batch\" (batch): fields: "},
    {RANGE ",{\"op\":\"cast\",\"dtype\":\"f32\",\"fields\":\"y\"}",
     "node \"cast\" (cast): fields: there is no \"y\""},
    {RANGE ",{\"op\":\"cast\",\"dtype\":\"f32\",\"fields\":[\"x\",\"x\"]}", "twice"},
    {"{\"op\":\"from_values\",\"values\":[\"a\"]},{\"op\":\"batch\",\"size\":2},{\"op\":\"read_"
     "file\"}",
     "works on none"},
    {RANGE ",{\"op\":\"decode_image\"}", "node \"decode_image\" (decode_image): works on none"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"repeat\",\"count\":2}",
     "node \"repeat\" (repeat): needs to know how many elements come in, because \"f\" (filter)"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"shard\",\"num_shards\":2,\"index\":0}",
     "because \"f\" (filter)"},
    {RANGE "," CHOSEN "," FILTER
           ",{\"op\":\"batch\",\"size\":2},{\"op\":\"cast\",\"dtype\":\"f32\"}",
     "put it before the batch"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"batch\",\"size\":2},{\"op\":\"batch\",\"size\":2}",
     "second batch"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"batch\",\"size\":2},{\"op\":\"unbatch\"}",
     "say within: \"item\" at that one"},
    {RANGE "," CHOSEN "," FILTER
           ",{\"op\":\"padded_batch\",\"size\":2},{\"op\":\"cast\",\"dtype\":\"f32\"}",
     "put it before the batch"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"window\",\"size\":2},{\"op\":\"shuffle\"}",
     "cannot permute what is made inside items"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"take\",\"count\":2},{\"op\":\"window\",\"size\":2}",
     "cannot stand after take or skip"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"repeat_each\",\"count\":2}", "needs to know how many"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"sample\"}", "needs to know how many"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"enumerate\"}", "needs to know how many"},
    {RANGE ",{\"op\":\"unbatch\"}", "field \"x\" has no dimension"},
    {RANGE BATCHES ",{\"op\":\"shuffle\"}" PARTS ",{\"op\":\"repeat\",\"count\":2}",
     "Behind \"u\" may stand: a batch with take and skip"},
    {RANGE BATCHES ",{\"op\":\"shuffle\"}" PARTS ",{\"op\":\"repeat\",\"count\":2}",
     "since a shuffle before it would have to keep the parts of an element together"},
    {RANGE BATCHES ",{\"op\":\"random_flip\"}" PARTS ",{\"op\":\"repeat\",\"count\":2}",
     "finds out once what it makes, which is not possible here, since a random operator"},
    {RANGE "," CHOSEN BATCHES ",{\"op\":\"unbatch\",\"survey\":true}",
     "survey: it is not possible, since which elements come to it"},
    {RANGE BATCHES PARTS ",{\"op\":\"pack\",\"length\":4},{\"op\":\"repeat\",\"count\":2}",
     "needs to know how many elements come in, because \"u\" (unbatch)"},
    {RANGE BATCHES PARTS ",{\"op\":\"cache\"},{\"op\":\"repeat\",\"count\":2}",
     "cannot be cached here: parts of an element have no id of their own"},
    {RANGE "," FILTER ",{\"op\":\"batch\",\"size\":2,\"span\":9}",
     "option span: is only for within: \"item\""},
    {"{\"op\":\"from_values\",\"values\":[\"a\"]},{\"op\":\"split_text\"},{\"op\":\"batch\","
     "\"size\":2,"
     "\"ragged\":true},{\"op\":\"batch\",\"size\":2}",
     "ragged batch already"},
    {"{\"op\":\"from_values\",\"values\":[\"a\"]},{\"op\":\"split_text\"},{\"op\":\"read_file\"}",
     "works on none of the fields"},
    {"{\"op\":\"from_values\",\"values\":[\"a\"]},{\"op\":\"batch\",\"size\":2},{\"op\":\"split_"
     "text\"},"
     "{\"op\":\"unbatch\"},{\"op\":\"batch\",\"size\":2,\"within\":\"item\"}",
     "works on none of the fields"},
    {RANGE "," CHOSEN "," FILTER ",{\"op\":\"take\",\"count\":2},{\"op\":\"shuffle\"}",
     "cannot stand after take or skip"},
    {RANGE "," CHOSEN "," FILTER
           ",{\"op\":\"take\",\"count\":2},{\"op\":\"filter\",\"expr\":\"x > 4\"}",
     "cannot stand after take or skip"},
    {RANGE "," CHOSEN "," FILTER
           ",{\"op\":\"range\",\"stop\":3,\"name\":\"b\",\"field\":\"y\"},{\"op\":"
           "\"zip\",\"inputs\":[\"b\",\"f\"]}",
     "node \"zip\" (zip): needs to know"},
    {RANGE "," CHOSEN "," FILTER
           ",{\"op\":\"range\",\"stop\":3,\"name\":\"b\",\"field\":\"y\"},{\"op\":"
           "\"zip\",\"inputs\":[\"f\",\"b\"]}",
     "node \"zip\" (zip): needs to know"},
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_err err = {0};
        struct cw_checked *checked = cw_test_check(bad[i].nodes, &err);
        if (checked || !strstr(err.msg, bad[i].says))
            fail_msg("%s: \"%s\", not \"%s\"", bad[i].nodes, err.msg, bad[i].says);
    }
}

static void expect_spec(const char *nodes, const char *want)
{
    struct cw_checked *checked = cw_test_must_check(nodes);
    CW_STR_AUTO spec = {0};
    cw_spec_print(&checked->nodes[checked->graph->n - 1].out, &spec);
    assert_string_equal(cw_str_text(&spec), want);
    cw_checked_unref(checked);
}

static void test_specs(void **state)
{
    (void)state;
    expect_spec(RANGE, "x: i64");
    expect_spec(RANGE ",{\"op\":\"cast\",\"dtype\":\"f32\"},{\"op\":\"batch\",\"size\":4,\"drop_"
                      "remainder\":true}",
                "x: f32[4]");
    expect_spec(RANGE ",{\"op\":\"batch\",\"size\":4}", "x: i64[?]");
    expect_spec("{\"op\":\"range\",\"stop\":3,\"field\":\"a\"},{\"op\":\"range\",\"stop\":3,"
                "\"field\":\"b\"},{\"op\":\"zip\",\"inputs\":[\"range\",\"range_2\"]},"
                "{\"op\":\"cast\",\"dtype\":\"u8\",\"fields\":\"b\"}",
                "a: i64, b: u8");
    expect_spec("{\"op\":\"from_values\",\"values\":[\"a\"]},{\"op\":\"read_file\"},{\"op\":"
                "\"batch\",\"size\":2}",
                "bytes: str[?]");
}

static void test_fingerprint(void **state)
{
    (void)state;
    /* defaults, names of operators without a stream, and given fields that are the default do not
     * count */
    assert_true(
        cw_test_same_function(RANGE, "{\"op\":\"range\",\"stop\":10,\"start\":0,\"name\":\"r\"}"));
    assert_true(cw_test_same_function(
        RANGE ",{\"op\":\"cast\",\"dtype\":\"f32\"}",
        RANGE ",{\"op\":\"cast\",\"dtype\":\"f32\",\"fields\":\"x\",\"keep_position\":true}"));
    assert_false(cw_test_same_function(RANGE, "{\"op\":\"range\",\"stop\":11}"));
    assert_false(cw_test_same_function(RANGE ",{\"op\":\"take\",\"count\":3}",
                                       RANGE ",{\"op\":\"skip\",\"count\":3}"));
    assert_false(cw_test_same_function(
        RANGE ",{\"op\":\"take\",\"count\":3},{\"op\":\"skip\",\"count\":3}",
        RANGE ",{\"op\":\"skip\",\"count\":3},{\"op\":\"take\",\"count\":3}"));
    /* a stream's name does */
    assert_false(cw_test_same_function(RANGE ",{\"op\":\"shuffle\"}",
                                       RANGE ",{\"op\":\"shuffle\",\"name\":\"s\"}"));
}

static void test_flags(void **state)
{
    (void)state;
    struct cw_checked *c =
        cw_test_must_check(RANGE ",{\"op\":\"shuffle\"},{\"op\":\"shuffle\"},{\"op\":\"cast\","
                                 "\"dtype\":\"f32\"},{\"op\":\"batch\",\"size\":2}");
    assert_true(c->nodes[1].tag != c->nodes[2].tag);
    assert_false(c->nodes[3].random);
    assert_true(c->nodes[4].random); /* other elements in a batch each epoch */
    cw_checked_unref(c);
    c = cw_test_must_check(
        "{\"op\":\"range\",\"stop\":3,\"field\":\"a\"},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":"
        "\"range\",\"stop\":3,\"field\":\"b\"},{\"op\":\"zip\",\"inputs\":[\"s\",\"range_2\"]}");
    assert_true(c->nodes[3].random);
    assert_int_equal(c->nodes[2].inputs_n, 0);
    cw_checked_unref(c);
}

static void test_sparse(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_sparse sparse;
    struct cw_checked *c = cw_test_must_check(
        RANGE "," FILTER ",{\"op\":\"shuffle\"},{\"op\":\"skip\",\"count\":3},{\"op\":"
              "\"take\",\"count\":50},{\"op\":\"skip\",\"count\":1},"
              "{\"op\":\"batch\",\"size\":8,\"drop_remainder\":true},{\"op\":\"take\","
              "\"count\":4},{\"op\":\"skip\",\"count\":1}");
    assert_int_equal(cw_sparse_find(c, &sparse, &err), 0);
    assert_int_equal(sparse.first, 1);
    assert_int_equal(sparse.rows, 2);
    assert_int_equal(sparse.skip, 3 + 1 + 8);
    assert_int_equal(sparse.take, 24);
    assert_int_equal(sparse.batch, 8);
    assert_true(sparse.drop_remainder);
    assert_int_equal(sparse.pads, SIZE_MAX);
    assert_true(c->nodes[8].sparse && !c->nodes[0].sparse);
    cw_checked_unref(c);
}

/* What is made inside an item comes to the client as rows, which it counts and cuts as those behind a
 * filter. */
static void test_inside(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_sparse sparse;
    struct cw_checked *c = cw_test_must_check(
        RANGE "," FILTER ",{\"op\":\"batch\",\"size\":4,\"within\":\"item\",\"span\":70},"
              "{\"op\":\"cast\",\"dtype\":\"i32\"},{\"op\":\"rebatch\",\"size\":9,\"span\":60},"
              "{\"op\":\"skip\",\"count\":2},{\"op\":\"batch\",\"size\":3}");
    assert_int_equal(cw_sparse_find(c, &sparse, &err), 0);
    assert_int_equal(sparse.first, 1);
    assert_int_equal(sparse.rows, 1);
    assert_int_equal(sparse.last, 4);
    assert_int_equal(sparse.span, 70);
    assert_int_equal(sparse.skip, 2);
    assert_int_equal(sparse.batch, 3);
    assert_int_equal(cw_sparse_item(&sparse, &c->nodes[1].out), 70);
    sparse.span = 0;
    sparse.most = 100000; /* four of the largest groups */
    assert_int_equal(cw_sparse_item(&sparse, &c->nodes[1].out), 400000);
    cw_checked_unref(c);
    c = cw_test_must_check(RANGE ",{\"op\":\"window\",\"size\":4},{\"op\":\"unbatch\"}");
    assert_int_equal(cw_sparse_find(c, &sparse, &err), 0);
    assert_int_equal(sparse.first, 2);
    assert_int_equal(sparse.rows, 1);
    assert_int_equal(sparse.last, 2);
    cw_checked_unref(c);
}

/* What takes elements apart is surveyed where something behind needs it, or a survey behind does, and else made
 * inside items. */
static void test_parts(void **state)
{
    (void)state;
    struct cw_checked *c = cw_test_must_check(RANGE BATCHES PARTS ",{\"op\":\"batch\",\"size\":2}");
    assert_false(c->nodes[3].surveyed);
    assert_true(c->nodes[4].sparse);
    cw_checked_unref(c);
    c = cw_test_must_check(RANGE BATCHES PARTS
                           ",{\"op\":\"window\",\"size\":2},{\"op\":\"repeat\",\"count\":2}");
    assert_true(c->nodes[3].surveyed);
    assert_int_equal(c->nodes[3].survey_for, 5);
    assert_false(c->nodes[3].sparse || c->nodes[5].sparse);
    cw_checked_unref(c);
    c = cw_test_must_check(RANGE BATCHES PARTS
                           ",{\"op\":\"filter\",\"expr\":\"x[0] > 3\",\"survey\":true}");
    assert_true(c->nodes[3].surveyed && c->nodes[4].surveyed);
    assert_int_equal(c->nodes[3].survey_for, 4);
    assert_int_equal(c->nodes[4].survey_for, 4);
    cw_checked_unref(c);
    c = cw_test_must_check(RANGE "," FILTER BATCHES PARTS ",{\"op\":\"shuffle\"}");
    assert_true(c->nodes[1].surveyed && c->nodes[4].surveyed); /* the batches need the filter's */
    cw_checked_unref(c);
    assert_false(cw_test_same_function(RANGE BATCHES PARTS,
                                       RANGE BATCHES ",{\"op\":\"unbatch\",\"survey\":true}"));
}

/* What an item takes is known of pipelines that work inside items, and refused by the operator's name when
 * a worker cannot hold it. */
static void test_item_size(void **state)
{
    struct cw_item_size size;
    struct cw_err err = {0};
    (void)state;
    struct cw_checked *c = cw_test_must_check(
        RANGE "," FILTER
              ",{\"op\":\"inflate\",\"factor\":100},{\"op\":\"window\",\"size\":2,\"span\":50,"
              "\"name\":\"w\"},{\"op\":\"eval\",\"expr\":\"x + 1\"}");
    assert_true(cw_item_size(c, &size));
    assert_int_equal(size.elements, 50);
    assert_int_equal(size.bytes, 50 * 100 * 8);
    assert_int_equal(cw_item_check(c, 40000, &err), 0);
    assert_int_equal(cw_item_check(c, 39999, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "node \"w\" (window): an item holds 50 elements"));
    cw_checked_unref(c);
    c = cw_test_must_check(RANGE "," FILTER
                                 ",{\"op\":\"batch\",\"size\":2}"); /* the client cuts it */
    assert_false(cw_item_size(c, &size));
    assert_int_equal(cw_item_check(c, 1, &err), 0);
    cw_checked_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_specs),
        cmocka_unit_test(test_fingerprint), cmocka_unit_test(test_flags),
        cmocka_unit_test(test_sparse),      cmocka_unit_test(test_inside),
        cmocka_unit_test(test_item_size),   cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
