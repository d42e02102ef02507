/* SPDX-License-Identifier: Apache-2.0 */
/* Which orders of a pipeline's operators are taken, and why others are not. */
#include "rewrite/order_check.h"

#include <stdio.h>

#include "support/checked.h"

#define R "{\"op\":\"range\",\"name\":\"r\",\"stop\":100}"
#define MAKE "{\"op\":\"eval\",\"name\":\"m\",\"expr\":\"x + 1\",\"out\":\"v\"}"
#define V "{\"op\":\"eval\",\"name\":\"v\",\"expr\":\"v * 3\"}"
#define X "{\"op\":\"eval\",\"name\":\"x\",\"expr\":\"x * 2\"}"
#define F "{\"op\":\"filter\",\"name\":\"f\",\"expr\":\"x > 7\"}"
#define BAD "{\"op\":\"eval\",\"name\":\"b\",\"expr\":\"100 % v\",\"out\":\"v\"}"
#define BURN "{\"op\":\"burn\",\"name\":\"burn\",\"ms\":1}"
#define KEPT "{\"op\":\"burn\",\"name\":\"burn\",\"ms\":1,\"keep_position\":true}"
#define TIED "{\"op\":\"burn\",\"name\":\"burn\",\"ms\":1,\"depends_on\":[\"v\"]}"
#define SHUF "{\"op\":\"shuffle\",\"name\":\"s\"}"
#define COUNT "{\"op\":\"enumerate\",\"name\":\"c\",\"field\":\"v\"}"
#define AGAIN "{\"op\":\"repeat\",\"name\":\"a\",\"count\":2}"
#define IMAGES "{\"op\":\"from_values\",\"name\":\"r\",\"values\":[{\"image\":[[1,2],[3,4]]}]}"
#define FLIP "{\"op\":\"random_flip\",\"name\":\"flip\"}"
#define BATCH "{\"op\":\"batch\",\"name\":\"ba\",\"size\":4}"
#define Q "{\"op\":\"range\",\"name\":\"q\",\"stop\":100,\"field\":\"y\",\"inputs\":[]}"
#define ZIP(a, b) "{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"" a "\",\"" b "\"]}"
#define Y(in) "{\"op\":\"eval\",\"name\":\"y\",\"expr\":\"y + 5\",\"inputs\":[\"" in "\"]}"

static const struct {
    const char *written, *other, *why; /* why not; NULL: it is taken */
} cases[] = {
    {R "," MAKE "," V "," X "," BATCH, R "," MAKE "," X "," V "," BATCH, NULL},
    {R "," MAKE "," V "," X "," BATCH, R "," MAKE "," V "," X "," BATCH, NULL},
    {R "," MAKE "," V "," BURN "," F "," SHUF "," BATCH,
     R "," MAKE "," F "," BURN "," V "," SHUF "," BATCH, NULL},
    {R "," MAKE "," V "," F "," BATCH, R "," F "," MAKE "," V "," BATCH, NULL},
    {R "," MAKE "," X "," F "," BATCH, R "," MAKE "," F "," X "," BATCH,
     "node \"f\" may not be done before node \"x\""},
    {R "," MAKE "," F "," BAD "," BATCH, R "," MAKE "," BAD "," F "," BATCH, "may refuse elements"},
    {R "," MAKE "," V "," BURN "," BATCH, R "," MAKE "," BURN "," V "," BATCH, NULL},
    {R "," MAKE "," V "," KEPT "," BATCH, R "," MAKE "," KEPT "," V "," BATCH,
     "keeps its position"},
    {R "," MAKE "," V "," TIED "," BATCH, R "," MAKE "," TIED "," V "," BATCH,
     "depends on the other"},
    {R "," MAKE "," V "," BURN "," BATCH, R "," MAKE "," TIED "," V "," BATCH,
     "another constraints"},
    {R "," MAKE "," V "," SHUF "," BATCH, R "," MAKE "," SHUF "," V "," BATCH, NULL},
    {R "," MAKE "," SHUF "," F "," BATCH, R "," MAKE "," F "," SHUF "," BATCH,
     "node \"f\" may not be done before node \"s\": leaves elements out"},
    {R "," COUNT "," BURN "," BATCH, R "," BURN "," COUNT "," BATCH, "is not known well enough"},
    {IMAGES "," AGAIN "," FLIP "," BATCH, IMAGES "," FLIP "," AGAIN "," BATCH,
     "may give an element again"},
    {IMAGES "," SHUF "," FLIP "," BATCH, IMAGES "," FLIP "," SHUF "," BATCH, NULL},
    {R "," MAKE "," V "," X "," BATCH, R "," MAKE "," V "," BATCH, "has 4 nodes"},
    {R "," MAKE "," V "," X "," BATCH, R "," MAKE "," V "," BURN "," BATCH, "\"x\" is missing"},
    {R "," MAKE "," V "," BATCH,
     R "," MAKE ",{\"op\":\"eval\",\"name\":\"v\",\"expr\":\"v * 4\"}," BATCH, "another options"},
    {R "," MAKE "," V "," BATCH, R "," MAKE ",{\"op\":\"burn\",\"name\":\"v\",\"ms\":1}," BATCH,
     "another operator"},
    {R "," Q "," ZIP("r", "q") "," X "," BATCH, R "," Q "," ZIP("q", "r") "," X "," BATCH,
     "other inputs"},
    {R "," Q "," Y("q") "," ZIP("r", "y") "," BATCH,
     R "," Q ",{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"r\",\"q\"]}," Y("z") "," BATCH,
     "node \""},
};

static void test_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_checked *written = cw_test_must_check(cases[i].written);
        struct cw_checked *other = cw_test_must_check(cases[i].other);
        struct cw_err err = {0};
        int rc = cw_order_check(written, other, &err);
        if (!cases[i].why && rc != 0)
            fail_msg("case %zu: %s", i, err.msg);
        if (cases[i].why && (rc != CW_E_INVALID || !strstr(err.msg, cases[i].why)))
            fail_msg("case %zu: %d \"%s\"", i, rc, err.msg);
        cw_checked_unref(written);
        cw_checked_unref(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
