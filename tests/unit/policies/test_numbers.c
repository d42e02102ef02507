/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a struct, by a table: what was printed is read again, and nonsense is refused by its key. */
#include "support/cm.h"

#include <math.h>
#include <string.h>

#include "policies/numbers.h"

struct thing {
    double weight, share, limit;
    unsigned count;
    bool is_red, is_shown;
};
static const struct cw_number table[] = {CW_NUMBER_ANY(thing, weight),
                                         CW_NUMBER(thing, share, 0, 1, 0.5),
                                         CW_NUMBER_FROM_0(thing, limit),
                                         CW_NUMBER_WHOLE_OF(thing, count, 10),
                                         CW_NUMBER_FLAG_OF(thing, is_red, false),
                                         CW_NUMBER_FLAG_OF(thing, is_shown, true)};

static const struct thing usual = {.share = 0.5};
static const struct thing other = {
    .weight = -2.5, .share = 0.25, .limit = 1e9, .count = 7, .is_red = true, .is_shown = true};

static int read_text(const char *text, struct thing *ret_thing, struct cw_err *err)
{
    struct cw_value value = {0};
    assert_int_equal(cw_value_parse(text, strlen(text), "t.json", &value, err), 0);
    int rc = cw_numbers_read(&value, CW_NUMBERS(table), ret_thing, err);
    cw_value_fini(&value);
    return rc;
}

/* In the table's order; what is usual is left out, but for what is always there. */
static void test_text(void **state)
{
    CW_STR_AUTO out = {0};
    (void)state;
    cw_str_add(&out, "{");
    cw_numbers_print(&usual, CW_NUMBERS(table), &out);
    cw_str_add(&out, "} {\"name\":\"a\"");
    cw_numbers_print(&other, CW_NUMBERS(table), &out);
    cw_str_add(&out, "}");
    assert_string_equal(
        cw_str_text(&out),
        "{\"count\":0,\"is_shown\":false} {\"name\":\"a\",\"weight\":-2.5,\"share\":0.25,"
        "\"limit\":1000000000.0,\"count\":7,\"is_red\":true,\"is_shown\":true}");
}

/* As members of an object the same come out. */
static void test_members(void **state)
{
    const struct thing *const things[] = {&usual, &other};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(things); i++) {
        struct cw_value built = {0}, parsed = {0};
        struct cw_err err = {0};
        CW_STR_AUTO text = {0};
        cw_str_add(&text, "{");
        cw_numbers_print(things[i], CW_NUMBERS(table), &text);
        cw_str_add(&text, "}");
        cw_value_set_object(&built);
        cw_numbers_add(things[i], CW_NUMBERS(table), &built);
        assert_int_equal(cw_value_parse(text.s, text.len, "t.json", &parsed, &err), 0);
        assert_true(cw_value_eq(&built, &parsed));
        cw_value_fini(&built);
        cw_value_fini(&parsed);
    }
}

static void test_read_again(void **state)
{
    const struct thing *const things[] = {&usual, &other};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(things); i++) {
        struct thing again;
        struct cw_err err = {0};
        CW_STR_AUTO text = {0};
        memset(&again, 0xff, sizeof(again)); /* each number is written, whatever was there */
        cw_str_add(&text, "{\"name\":\"a\"");
        cw_numbers_print(things[i], CW_NUMBERS(table), &text);
        cw_str_add(&text, "}");
        assert_int_equal(read_text(text.s, &again, &err), 0);
        assert_true(again.weight <= things[i]->weight && again.weight >= things[i]->weight);
        assert_true(again.share <= things[i]->share && again.share >= things[i]->share);
        assert_true(again.limit <= things[i]->limit && again.limit >= things[i]->limit);
        assert_int_equal(again.count, things[i]->count);
        assert_true(again.is_red == things[i]->is_red && again.is_shown == things[i]->is_shown);
    }
}

/* JSON has no word for them. */
static void test_not_finite(void **state)
{
    const struct thing thing = {.weight = (double)NAN, .share = 0.5, .limit = (double)INFINITY};
    CW_STR_AUTO out = {0};
    (void)state;
    cw_numbers_print(&thing, CW_NUMBERS(table), &out);
    assert_string_equal(cw_str_text(&out), "\"count\":0,\"is_shown\":false");
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"weight\": \"4\"}", "weight: not a number"},
        {"{\"weight\": true}", "weight: not a number"},
        {"{\"weight\": null}", "weight: not a number"},
        {"{\"share\": 1.5}", "share: 1.5 is not from 0 to 1"},
        {"{\"limit\": -1}", "limit: -1 is not from 0"},
        {"{\"limit\": 1e300}", "limit: 1e+300 is not from 0 to 1e+18"},
        {"{\"count\": 2.5}", "count: not a whole number"},
        {"{\"count\": 11}", "count: 11 is not from 0 to 10"},
        {"{\"is_red\": 1}", "is_red: neither true nor false"},
        {"{\"is_red\": \"true\"}", "is_red: neither true nor false"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct thing thing;
        struct cw_err err = {0};
        assert_int_equal(read_text(cases[i].text, &thing, &err), CW_E_INVALID);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("%s: %s", cases[i].text, err.msg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_members),
                                       cmocka_unit_test(test_read_again),
                                       cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
