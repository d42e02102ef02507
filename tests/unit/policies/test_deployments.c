/* SPDX-License-Identifier: Apache-2.0 */
/* How workers are spread over Deployments, and when a number that others write too is written. */
#include <string.h>

#include "policies/deployments.h"
#include "policies/replicas_owner.h"
#include "support/cm.h"

static void parses(void **state)
{
    (void)state;
    struct cw_deployment d;
    struct cw_err err = {0};
    assert_int_equal(cw_deployment_parse("cachew-worker", 0.5, &d, NULL), CW_OK);
    assert_string_equal(d.name, "cachew-worker");
    assert_true(d.max == UINT64_MAX && d.price == 0.5 && !d.held);
    assert_int_equal(cw_deployment_parse("spot,max=30,price=0.11", 0.5, &d, NULL), CW_OK);
    assert_string_equal(d.name, "spot");
    assert_true(d.max == 30 && d.price == 0.11);
    static const char *const bad[][2] = {
        {"", "\"\" is no name"},
        {"a b", "\"a b\" is no name"},
        {",max=1", "\"\" is no name"},
        {"a,max=", "\"max=\""},
        {"a,max=-1", "\"max=-1\""},
        {"a,max=1.5", "\"max=1.5\""},
        {"a,price=", "\"price=\""},
        {"a,price=-1", "\"price=-1\""},
        {"a,price=inf", "\"price=inf\""},
        {"a,", "\"\" is neither"},
        {"a,most=3", "\"most=3\" is neither"},
        {"a/b", "\"a/b\" is no name"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        assert_int_equal(cw_deployment_parse(bad[i][0], 0, &d, &err), CW_E_INVALID);
        if (!strstr(err.msg, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], err.msg);
    }
}

struct spread_case {
    struct cw_deployment v[3];
    size_t n;
    uint64_t workers, want[3];
    size_t next;
};
#define D(max, price, replicas, waiting, held)                                                     \
    {                                                                                              \
        "d", max, price, replicas, waiting, held                                                   \
    }
#define ALL UINT64_MAX

static void spreads(void **state)
{
    (void)state;
    static const struct spread_case cases[] = {
        /* the cheapest first, whatever the order */
        {{D(ALL, 2, 0, 0, 0), D(30, 1, 0, 0, 0)}, 2, 10, {0, 10}, 1},
        {{D(ALL, 2, 0, 0, 0), D(30, 1, 30, 0, 0)}, 2, 40, {10, 30}, 0},
        {{D(5, 1, 0, 0, 0), D(5, 1, 0, 0, 0)}, 2, 7, {5, 2}, 0}, /* of equal ones the first */
        {{D(5, 1, 5, 0, 0), D(5, 2, 5, 0, 0)}, 2, 99, {5, 5}, 2},
        {{D(5, 1, 0, 0, 0)}, 1, 0, {0}, 0},
        /* the dearest goes first */
        {{D(ALL, 2, 10, 0, 0), D(30, 1, 30, 0, 0)}, 2, 33, {3, 30}, 0},
        /* of 20, 8 wait: they stay asked for, and the next one has what is lacking */
        {{D(30, 1, 20, 8, 0), D(ALL, 2, 0, 0, 0)}, 2, 25, {20, 13}, 1},
        {{D(30, 1, 20, 8, 0), D(ALL, 2, 13, 0, 0)}, 2, 15, {15, 3}, 1},
        {{D(30, 1, 20, 8, 0), D(ALL, 2, 3, 0, 0)}, 2, 12, {12, 0}, 1},
        {{D(30, 1, 20, 8, 0), D(ALL, 2, 3, 0, 0)}, 2, 5, {5, 0}, 1},
        {{D(30, 1, 2, 9, 0), D(ALL, 2, 3, 0, 0)}, 2, 5, {2, 5}, 1},
        /* what is held counts, and is not changed */
        {{D(ALL, 1, 0, 0, 0), D(ALL, 9, 4, 0, 1)}, 2, 10, {6, 4}, 0},
        {{D(ALL, 1, 0, 0, 0), D(ALL, 9, 4, 3, 1)}, 2, 10, {9, 4}, 0},
        {{D(ALL, 1, 7, 0, 0), D(ALL, 9, 40, 0, 1)}, 2, 10, {0, 40}, 0},
        {{D(ALL, 1, 7, 0, 1)}, 1, 10, {7}, 1},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const struct spread_case *c = &cases[i];
        uint64_t want[3] = {0};
        cw_deployments_spread(c->v, c->n, c->workers, want);
        for (size_t j = 0; j < c->n; j++)
            if (want[j] != c->want[j])
                fail_msg("case %zu: %zu is asked for %d", i, j, (int)want[j]);
        if (cw_deployments_next(c->v, c->n) != c->next)
            fail_msg("case %zu: the next comes from %zu", i, cw_deployments_next(c->v, c->n));
    }
    cw_deployments_spread(NULL, 0, 5, NULL);
    assert_int_equal(cw_deployments_next(NULL, 0), 0);
}

#define MINUTE 60000

static void puts_back_and_gives_way(void **state)
{
    (void)state;
    struct cw_replicas_owner o = {0};
    int64_t at = 0;
    assert_true(cw_replicas_owner_may_write(&o, 0, &at));
    assert_false(cw_replicas_owner_see(&o, 7, false, 0)); /* what is found is its own */
    cw_replicas_owner_wrote(&o, 9, 0);
    assert_false(cw_replicas_owner_see(&o, 9, true, 10));
    assert_true(cw_replicas_owner_see(&o, 3, false, 1000)); /* the first time: at once */
    assert_true(cw_replicas_owner_may_write(&o, 1000, &at));
    cw_replicas_owner_wrote(&o, 9, 1000);
    assert_true(cw_replicas_owner_see(&o, 3, false, 2000)); /* the second: after a minute */
    assert_false(cw_replicas_owner_see(&o, 3, false, 2001));
    assert_false(cw_replicas_owner_may_write(&o, 2001, &at));
    assert_int_equal(at, 1000 + MINUTE);
    assert_true(cw_replicas_owner_may_write(&o, at, &at));
    cw_replicas_owner_wrote(&o, 9, at);
    assert_false(o.left_alone);
    assert_true(cw_replicas_owner_see(&o, 4, false, 3 * MINUTE)); /* the third: it is theirs */
    assert_true(o.left_alone);
    assert_false(cw_replicas_owner_may_write(&o, 4 * MINUTE, &at));
    assert_int_equal(at, 13 * MINUTE);
    assert_true(cw_replicas_owner_see(&o, 5, false, 10 * MINUTE)); /* and again */
    assert_false(cw_replicas_owner_may_write(&o, 13 * MINUTE, &at));
    assert_int_equal(at, 20 * MINUTE);
    assert_true(cw_replicas_owner_may_write(&o, at, &at)); /* left alone for ten minutes */
    assert_false(o.left_alone);
    cw_replicas_owner_wrote(&o, 9, at);
    assert_true(cw_replicas_owner_may_write(&o, at + 1, &at));
}

/* Three times in more than ten minutes is no fight. */
static void forgets(void **state)
{
    (void)state;
    struct cw_replicas_owner o = {0};
    int64_t at = 0;
    cw_replicas_owner_wrote(&o, 9, 0);
    for (int i = 1; i <= 6; i++) {
        int64_t now = i * 6 * MINUTE;
        assert_true(cw_replicas_owner_see(&o, 3, false, now));
        assert_false(o.left_alone);
        assert_true(cw_replicas_owner_may_write(&o, now, &at));
        cw_replicas_owner_wrote(&o, 9, now);
    }
    assert_false(cw_replicas_owner_see(&o, 8, true, 37 * MINUTE)); /* an answer that came late */
    assert_true(cw_replicas_owner_may_write(&o, 37 * MINUTE, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(spreads),
        cmocka_unit_test(puts_back_and_gives_way),
        cmocka_unit_test(forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
