/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker may send: memory is bounded whatever outputs take, and credit never stands
 * still. */
#include "support/cm.h"

#include "base/rng.h"
#include "client/transport/credit.h"

/* A worker that sends all that it may, and a trainer that takes nothing: the memory that is held
 * in the end. */
static uint64_t fill(uint64_t limit, uint64_t bytes, uint64_t more)
{
    struct cw_credit c = {.limit = limit};
    uint64_t n = 0;
    int64_t balance = (int64_t)cw_credit_begin(&c);
    for (int quiet = 0; quiet < 3;) {
        bool sent = false;
        for (; balance > 0 && n < 1000000; sent = true, n++) {
            balance -= (int64_t)bytes;
            cw_credit_came(&c, bytes, bytes + more);
        }
        uint64_t grant = cw_credit_grant(&c, 0, true);
        balance += (int64_t)grant;
        quiet = sent || grant > 0 ? 0 : quiet + 1;
    }
    assert_true(c.held == n * (bytes + more) && c.out == balance);
    return c.held;
}

static void memory_is_bounded(void **state)
{
    static const uint64_t limits[] = {1, 1000, 64 << 10, 1 << 20, 256 << 20},
                          sizes[] = {1, 64, 1000, 8192, 1 << 20, 100 << 20};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(limits); i++)
        for (size_t k = 0; k < CW_ARRAY_LEN(sizes); k++) {
            uint64_t first = CW_MIN(limits[i], (uint64_t)64 << 10), more = 700,
                     one = sizes[k] + more;
            uint64_t held = fill(limits[i], sizes[k], more), most = limits[i] + one;
            /* The first credit is given before anything is known. */
            most = CW_MAX(most, (first / sizes[k] + 1) * one);
            assert_in_range(held, CW_MIN(limits[i] / 2, most), most);
        }
}

/* Whatever comes and goes: when nothing is held, something may be sent. */
static void never_stands(void **state)
{
    static const uint64_t limits[] = {1, 5000, 1 << 20};
    struct cw_rng rng;
    (void)state;
    uint32_t draw = 0;
    cw_rng_init(&rng, 7, 7, 0, 0, 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(limits); i++) {
        struct cw_credit c = {.limit = limits[i]};
        (void)cw_credit_begin(&c);
        for (int round = 0; round < 2000; round++) {
            uint64_t cost = 0;
            for (uint64_t n = 1 + cw_rng_below(&rng, draw++, 5); n > 0 && c.out > 0; n--) {
                uint64_t most = (uint64_t)1 << cw_rng_below(&rng, draw++, 24),
                         bytes = cw_rng_below(&rng, draw++, 3) > 0
                                     ? cw_rng_below(&rng, draw++, most)
                                     : 0;
                cw_credit_came(&c, bytes, bytes + 700);
                cost += bytes + 700;
            }
            (void)cw_credit_grant(&c, 0, false);
            cw_credit_back(&c, cost);
            assert_int_equal(c.held, 0);
            (void)cw_credit_grant(&c, 0, true);
            assert_true(c.out > 0);
        }
    }
}

static void small_change_and_overdraw(void **state)
{
    struct cw_credit c = {.limit = 1 << 20};
    (void)state;
    assert_int_equal(cw_credit_begin(&c), 64 << 10);
    cw_credit_came(&c, 64 << 10, 64 << 10);
    cw_credit_back(&c, 64 << 10);
    assert_int_equal(cw_credit_grant(&c, 0, false), 1 << 20);
    cw_credit_came(&c, 100000, 100000);
    cw_credit_back(&c, 100000);
    assert_int_equal(cw_credit_grant(&c, 0, false), 0); /* less than a quarter */
    assert_int_equal(cw_credit_grant(&c, 0, true), 100000);
    assert_int_equal(cw_credit_grant(&c, 0, true), 0);
    assert_int_equal(cw_credit_overdraw(&c), 1 << 18);
    /* What is in use elsewhere is not granted. */
    cw_credit_came(&c, 1 << 20, 1 << 20);
    cw_credit_back(&c, 1 << 20);
    assert_int_equal(cw_credit_grant(&c, 1 << 19, true), 1 << 18);
    /* A new connection knows what outputs take. */
    assert_int_equal(cw_credit_begin(&c), 1 << 20);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_bounded),
                                          cmocka_unit_test(never_stands),
                                          cmocka_unit_test(small_change_and_overdraw)};
CW_TESTS_MAIN(tests)
