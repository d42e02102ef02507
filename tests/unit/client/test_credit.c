/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker may send: memory is bounded whatever outputs take, and credit never stands
 * still. */
#include "support/cm.h"

#include "base/rng.h"
#include "client/transport/credit.h"

/* An output that is never given out. */
static void keep(struct cw_credit *credit, uint64_t bytes, uint64_t cost)
{
    struct cw_charge charge = cw_credit_charge(credit, bytes, cost);
    assert_ptr_equal(charge.credit, credit);
    credit->refs--; /* the credit of these tests is on the stack */
}

/* An output that is given out at once. */
static void pass(struct cw_credit *credit, uint64_t bytes)
{
    struct cw_charge charge = cw_credit_charge(credit, bytes, bytes);
    cw_charge_return(&charge);
    assert_null(charge.credit);
}

/* A worker that sends all that it may, and a trainer that takes nothing: the memory that is held
 * in the end. */
static uint64_t fill(uint64_t limit, uint64_t bytes, uint64_t more)
{
    struct cw_credit c = {.refs = 1, .limit = limit};
    uint64_t n = 0;
    int64_t balance = (int64_t)cw_credit_begin(&c, UINT64_MAX);
    for (int quiet = 0; quiet < 3;) {
        bool sent = false;
        for (; balance > 0 && n < 1000000; sent = true, n++) {
            balance -= (int64_t)bytes;
            keep(&c, bytes, bytes + more);
        }
        uint64_t grant = cw_credit_grant(&c, UINT64_MAX, true);
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
        struct cw_credit c = {.refs = 1, .limit = limits[i]};
        (void)cw_credit_begin(&c, UINT64_MAX);
        for (int round = 0; round < 2000; round++) {
            struct cw_charge charges[8] = {{0}};
            size_t charges_n = 0;
            for (uint64_t n = 1 + cw_rng_below(&rng, draw++, 5); n > 0 && c.out > 0; n--) {
                uint64_t most = (uint64_t)1 << cw_rng_below(&rng, draw++, 24),
                         bytes = cw_rng_below(&rng, draw++, 3) > 0
                                     ? cw_rng_below(&rng, draw++, most)
                                     : 0;
                charges[charges_n++] = cw_credit_charge(&c, bytes, bytes + 700);
            }
            (void)cw_credit_grant(&c, UINT64_MAX, false);
            for (size_t k = 0; k < charges_n; k++)
                cw_charge_return(&charges[k]);
            assert_int_equal(c.held, 0);
            (void)cw_credit_grant(&c, UINT64_MAX, true);
            assert_true(c.out > 0);
        }
    }
}

static void small_change_and_overdraw(void **state)
{
    struct cw_credit c = {.refs = 1, .limit = 1 << 20};
    (void)state;
    assert_int_equal(cw_credit_begin(&c, UINT64_MAX), 64 << 10);
    pass(&c, 64 << 10);
    assert_int_equal(cw_credit_grant(&c, UINT64_MAX, false), 1 << 20);
    pass(&c, 100000);
    assert_int_equal(cw_credit_grant(&c, UINT64_MAX, false), 0); /* less than a quarter */
    assert_int_equal(cw_credit_grant(&c, UINT64_MAX, true), 100000);
    assert_int_equal(cw_credit_grant(&c, UINT64_MAX, true), 0);
    assert_int_equal(cw_credit_overdraw(&c), 1 << 18);
    /* What others use is not granted. */
    pass(&c, 1 << 20);
    assert_int_equal(cw_credit_grant(&c, 1 << 19, true), 1 << 19);
    /* A new connection knows what outputs take. */
    assert_int_equal(cw_credit_begin(&c, UINT64_MAX), 1 << 20);
}

/* Before the first output nothing says how much memory outputs need, however much time passes. */
static void little_is_granted_before_the_first(void **state)
{
    struct cw_credit c = {.refs = 1, .limit = 256 << 20};
    (void)state;
    assert_int_equal(cw_credit_begin(&c, UINT64_MAX), 64 << 10);
    assert_int_equal(cw_credit_grant(&c, UINT64_MAX, true), 0);
    assert_int_equal(cw_credit_promised(&c), 64 << 10);
    keep(&c, 64, 64 + 640); /* each needs eleven times its bytes */
    assert_int_equal(cw_credit_promised(&c), 11 * (65536 - 64));
    uint64_t more = cw_credit_grant(&c, UINT64_MAX, true);
    assert_int_equal(more, (256 << 20) / 11 - 65536);
}

/* Workers share what is left: none is granted more, also not for a new connection. */
static void no_more_than_there_is_room_for(void **state)
{
    struct cw_credit c = {.refs = 1, .limit = 1 << 20};
    (void)state;
    assert_int_equal(cw_credit_begin(&c, 1000), 1000);
    cw_credit_end(&c);
    assert_int_equal(cw_credit_promised(&c), 0);
    assert_int_equal(cw_credit_begin(&c, 0), 0);
    assert_int_equal(cw_credit_grant(&c, 0, true), 0);
    pass(&c, 500);
    assert_int_equal(cw_credit_grant(&c, 3000, true), 3000 + 500);
    assert_int_equal(cw_credit_promised(&c), 3000);
}

/* However full the buffer is, a worker of which nothing is here can send one output. */
static void one_output_of_each_worker(void **state)
{
    struct cw_credit *credit = cw_credit_new(1 << 20);
    (void)state;
    assert_int_equal(cw_credit_begin(credit, 0), 0);
    assert_int_equal(cw_credit_grant_one(credit), 1);
    assert_int_equal(cw_credit_grant_one(credit), 0); /* it has not come yet */
    struct cw_charge charge = cw_credit_charge(credit, 5000, 6000);
    assert_int_equal(cw_credit_grant_one(credit), 0); /* it is here */
    cw_charge_return(&charge);
    assert_int_equal(cw_credit_grant_one(credit), 5000);
    assert_int_equal(credit->out, 1);
    cw_credit_unref(credit);
}

/* What an output of an earlier connection took was forgotten with that connection. */
static void charges_of_earlier_connections_are_void(void **state)
{
    struct cw_credit *credit = cw_credit_new(1 << 20);
    (void)state;
    (void)cw_credit_begin(credit, UINT64_MAX);
    struct cw_charge early = cw_credit_charge(credit, 1000, 2000);
    assert_int_equal(credit->held, 2000);
    (void)cw_credit_begin(credit, UINT64_MAX);
    assert_int_equal(credit->held, 0);
    struct cw_charge late = cw_credit_charge(credit, 100, 300);
    cw_charge_return(&early);
    assert_int_equal(credit->held, 300);
    cw_charge_return(&late);
    assert_int_equal(credit->held, 0);
    cw_credit_unref(credit);
}

/* A batch may be given out, or freed, after the stream to its worker was closed. */
static void a_charge_outlives_the_stream(void **state)
{
    struct cw_credit *credit = cw_credit_new(1 << 20);
    (void)state;
    (void)cw_credit_begin(credit, UINT64_MAX);
    struct cw_charge charge = cw_credit_charge(credit, 10, 20), none = {0};
    cw_credit_unref(credit);
    assert_int_equal(charge.credit->held, 20);
    cw_charge_return(&charge);
    cw_charge_return(&charge); /* once only */
    cw_charge_return(&none);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_bounded),
                                          cmocka_unit_test(never_stands),
                                          cmocka_unit_test(small_change_and_overdraw),
                                          cmocka_unit_test(little_is_granted_before_the_first),
                                          cmocka_unit_test(no_more_than_there_is_room_for),
                                          cmocka_unit_test(one_output_of_each_worker),
                                          cmocka_unit_test(charges_of_earlier_connections_are_void),
                                          cmocka_unit_test(a_charge_outlives_the_stream)};
CW_TESTS_MAIN(tests)
