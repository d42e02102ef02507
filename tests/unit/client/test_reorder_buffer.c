/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever the order of arrival, and however often each item comes: every item once, in order,
 * epoch after epoch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/hash.h"
#include "client/delivery/reorder_buffer.h"
#include "support/ranges.h"

struct entry {
    uint64_t epoch, item;
};
static int live;

static struct entry *entry_new(uint64_t epoch, uint64_t item)
{
    struct entry *entry = CW_NEW(struct entry);
    *entry = (struct entry){epoch, item};
    live++;
    return entry;
}

static void entry_free(void *arg, void *entry)
{
    (void)arg;
    live--;
    cw_mem_free(entry);
}

static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state += 0x9e3779b97f4a7c15u;
    return cw_mix64(*state) % n;
}

static void put(struct cw_reorder_buffer *order, uint64_t epoch, uint64_t item, int want)
{
    struct cw_err err = {0};
    struct entry *entry = entry_new(epoch, item);
    int rc = cw_reorder_put(order, epoch, item, entry, &err);
    assert_int_equal(rc, want);
    if (rc != 1)
        entry_free(NULL, entry);
}

/* Takes all that is there; returns how many items, and checks that they follow *next. */
static uint64_t take_all(struct cw_reorder_buffer *order, uint64_t *epoch, uint64_t *next,
                         uint64_t *ends)
{
    uint64_t n = 0;
    for (;;) {
        struct cw_reorder_out out = cw_reorder_take(order);
        if (out.kind == CW_REORDER_NONE)
            return n;
        assert_int_equal(out.epoch, *epoch);
        if (out.kind == CW_REORDER_END) {
            (*epoch)++;
            (*ends)++;
            *next = order->conf.consumer;
            continue;
        }
        struct entry *entry = out.entry;
        assert_int_equal(out.kind, CW_REORDER_ITEM);
        assert_int_equal(out.item, *next);
        assert_int_equal(entry->item, out.item);
        assert_int_equal(entry->epoch, out.epoch);
        entry_free(NULL, entry);
        *next += order->conf.consumers;
        n++;
    }
}

/* Random arrival within a window over two epochs, each item one to three times. */
static void run_random(uint64_t seed, uint64_t items, uint64_t consumers, uint64_t consumer)
{
    struct cw_reorder_buffer order;
    struct cw_reorder_conf conf = {
        .items = items, .epochs = 2, .consumers = consumers, .consumer = consumer};
    uint64_t state = seed, epoch = 0, next = consumer, ends = 0, taken = 0;
    uint64_t mine = items > consumer ? (items - consumer - 1) / consumers + 1 : 0;
    cw_reorder_init(&order, &conf, 0, 0, NULL);
    assert_int_equal(order.mine, mine);
    struct cw_set seen = {0};
    while (!cw_reorder_is_over(&order)) {
        uint64_t at = draw(&state, 2 * mine), e = at / mine,
                 item = at % mine * consumers + consumer;
        put(&order, e, item, cw_set_has(&seen, at) ? 0 : 1);
        cw_set_add(&seen, at, at + 1);
        if (draw(&state, 3) == 0)
            taken += take_all(&order, &epoch, &next, &ends);
    }
    taken += take_all(&order, &epoch, &next, &ends);
    assert_int_equal(taken, 2 * mine);
    assert_int_equal(ends, 2);
    assert_int_equal(order.held, 0);
    put(&order, 1, consumer, 0); /* late: dropped */
    cw_set_fini(&seen);
    cw_reorder_fini(&order, entry_free, NULL);
    assert_int_equal(live, 0);
}

static void test_random_order(void **arg)
{
    (void)arg;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_random(seed, 97, 1, 0);
        run_random(seed, 100, 3, 2);
        run_random(seed, 7, 8, 6);
    }
}

static void test_unordered(void **arg)
{
    (void)arg;
    struct cw_reorder_buffer order;
    struct cw_reorder_conf conf = {.items = 50, .epochs = 2, .consumers = 1, .unordered = true};
    struct cw_set consumed = {0}, given = {0};
    cw_set_add(&consumed, 20, 25);
    cw_set_add(&consumed, 49, 50);
    cw_reorder_init(&order, &conf, 0, 5, &consumed);
    uint64_t state = 9, n = 0, epochs = 0, ends = 0;
    put(&order, 0, 4, 0);
    put(&order, 0, 22, 0);
    put(&order, 1, 3, 1); /* the next epoch, early: it must wait */
    while (ends == 0) {
        uint64_t item = draw(&state, 50);
        struct entry *entry = entry_new(0, item);
        struct cw_err err = {0};
        if (cw_reorder_put(&order, 0, item, entry, &err) != 1)
            entry_free(NULL, entry);
        for (;;) {
            struct cw_reorder_out out = cw_reorder_take(&order);
            if (out.kind == CW_REORDER_END)
                ends++;
            if (out.kind != CW_REORDER_ITEM || out.epoch != 0) {
                epochs = out.kind == CW_REORDER_ITEM ? out.epoch : epochs;
                if (out.entry)
                    entry_free(NULL, out.entry);
                break;
            }
            assert_false(cw_set_has(&given, out.item));
            cw_set_add(&given, out.item, out.item + 1);
            entry_free(NULL, out.entry);
            n++;
        }
    }
    assert_int_equal(n, 50 - 5 - 5 - 1);
    struct cw_reorder_out out = cw_reorder_take(&order);
    assert_int_equal(out.kind, CW_REORDER_ITEM);
    assert_int_equal(out.epoch, 1);
    assert_int_equal(out.item, 3);
    entry_free(NULL, out.entry);
    cw_reorder_fini(&order, entry_free, NULL);
    assert_int_equal(live, 0);
    cw_set_fini(&consumed);
    cw_set_fini(&given);
}

static void test_skip_and_bounds(void **arg)
{
    (void)arg;
    struct cw_reorder_buffer order;
    struct cw_reorder_conf conf = {.items = 10, .epochs = 0, .consumers = 1};
    struct cw_err err = {0};
    cw_reorder_init(&order, &conf, 3, 2, NULL);
    put(&order, 3, 10, CW_E_CORRUPT);
    put(&order, 3, 4, 1);
    assert_int_equal(cw_reorder_skip(&order, 3, RANGE(0, 6)), 3); /* 2, 3, 5: 4 is there */
    assert_int_equal(cw_reorder_skip(&order, 3, RANGE(0, 6)), 0);
    put(&order, 3, 5, 0);
    const enum cw_reorder_kind want[] = {CW_REORDER_GONE, CW_REORDER_ITEM, CW_REORDER_GONE,
                                         CW_REORDER_NONE};
    for (size_t i = 0; i < CW_ARRAY_LEN(want); i++) {
        struct cw_reorder_out out = cw_reorder_take(&order);
        assert_int_equal(out.kind, want[i]);
        if (out.entry)
            entry_free(NULL, out.entry);
    }
    put(&order, 3, 8, 1);
    cw_reorder_end_epoch(&order, entry_free, NULL);
    assert_int_equal(cw_reorder_take(&order).kind, CW_REORDER_END);
    assert_int_equal(order.epoch, 4);
    put(&order, 4, 0, 1);
    assert_int_equal(cw_reorder_put(&order, UINT64_MAX, 0, NULL, &err), CW_E_CORRUPT);
    cw_reorder_fini(&order, entry_free, NULL);
    assert_int_equal(live, 0);
}

static void test_empty_epochs(void **arg)
{
    (void)arg;
    struct cw_reorder_buffer order;
    struct cw_reorder_conf conf = {.items = 0, .epochs = 3, .consumers = 1};
    cw_reorder_init(&order, &conf, 0, 0, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cw_reorder_take(&order).kind, CW_REORDER_END);
    assert_int_equal(cw_reorder_take(&order).kind, CW_REORDER_NONE);
    assert_true(cw_reorder_is_over(&order));
    cw_reorder_fini(&order, entry_free, NULL);
}

static void test_first_that_has_not_come(void **arg)
{
    (void)arg;
    struct cw_reorder_buffer order;
    struct cw_reorder_conf conf = {.items = 3, .epochs = 0, .consumers = 1};
    cw_reorder_init(&order, &conf, 2, 1, NULL);
    assert_int_equal(cw_reorder_first_missing(&order), 7);
    put(&order, 2, 2, 1);
    assert_int_equal(cw_reorder_first_missing(&order), 7);
    put(&order, 2, 1, 1);
    assert_int_equal(cw_reorder_first_missing(&order), 9);
    put(&order, 3, 0, 1);
    assert_int_equal(cw_reorder_first_missing(&order), 10);
    uint64_t epoch = 2, next = 1, ends = 0;
    while (ends == 0)
        (void)take_all(&order, &epoch, &next, &ends);
    assert_int_equal(cw_reorder_first_missing(&order), 10);
    cw_reorder_fini(&order, entry_free, NULL);
    assert_int_equal(live, 0);
    conf.items = 0;
    cw_reorder_init(&order, &conf, 0, 0, NULL);
    assert_int_equal(cw_reorder_first_missing(&order), 0);
    cw_reorder_fini(&order, entry_free, NULL);
}

static void test_numbers(void **arg)
{
    (void)arg;
    struct cw_reorder_conf conf = {.items = 100, .consumers = 3, .consumer = 1};
    for (uint64_t item = 0; item < 30; item++) {
        uint64_t local = cw_reorder_local(&conf, item); /* ours below `item` */
        uint64_t count = 0;
        for (uint64_t i = 0; i < item; i++)
            count += i % 3 == 1;
        assert_int_equal(local, count);
    }
    assert_int_equal(cw_reorder_item(&conf, 4), 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_order),
        cmocka_unit_test(test_unordered),
        cmocka_unit_test(test_skip_and_bounds),
        cmocka_unit_test(test_empty_epochs),
        cmocka_unit_test(test_first_that_has_not_come),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
