/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a dense job: what goes in comes out once and in order, credit comes back when an
 * entry was given out, items count as consumed when the trainer has come back from it. */
#include "support/cm.h"

#include <stdatomic.h>
#include "base/mem.h"
#include "client/delivery/ack_sets.h"
#include "client/delivery/epoch_sets.h"
#include "client/model/public.h"
#include "support/ranges.h"

#define ITEMS 5
#define COST 100

static struct cachew_job job;
static struct cw_ledger ledger;
static struct cw_credit *credit;

static int begin(bool sparse)
{
    const struct cw_pos from = {0};
    const struct cw_plan_join rules = {.take = -1, .batch = 2};
    job = (struct cachew_job){.items = ITEMS, .epochs = 1, .consumers = 1, .sparse = sparse};
    cw_mutex_init(&job.mutex);
    cw_cond_init(&job.cond);
    credit = cw_credit_new(1 << 20);
    (void)cw_credit_begin(credit, UINT64_MAX);
    cw_ledger_init(&ledger, &job, sparse ? &rules : NULL, &from, NULL);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return begin(false);
}

static int setup_shared(void **state)
{
    (void)state;
    (void)begin(false);
    job.mode = CW_MODE_SHARED;
    ledger.reorder.conf.unordered = true;
    return 0;
}

static int setup_sparse(void **state)
{
    (void)state;
    return begin(true);
}

static int teardown(void **state)
{
    (void)state;
    cw_ledger_fini(&ledger);
    assert_int_equal(credit->refs, 1); /* nobody keeps a charge */
    while (job.head) {
        struct cachew_batch *next = job.head->next;
        cachew_batch_release(job.head);
        job.head = next;
    }
    cw_credit_unref(credit);
    cw_cond_fini(&job.cond);
    cw_mutex_fini(&job.mutex);
    return 0;
}

static struct cw_received *received(uint64_t item)
{
    struct cw_received *r = CW_NEW(struct cw_received);
    r->batch = cw_batch_new(0);
    r->batch->item = item;
    r->charge = cw_credit_charge(credit, COST, COST);
    return r;
}

static int put(uint64_t item)
{
    struct cw_err err = {0};
    struct cw_received *r = received(item);
    int rc = cw_ledger_put(&ledger, r, &err);
    if (rc != 1)
        cw_received_free(r);
    return rc;
}

/* What is pushed to the trainer now: item numbers as digits, '.' for the end of the epoch. */
static void drain(const char *want)
{
    struct cw_err err = {0};
    assert_int_equal(cw_ledger_drain(&ledger, &err), 0);
    for (; *want; want++) {
        struct cachew_batch *entry = job.head;
        assert_non_null(entry);
        assert_int_equal(entry->end, *want == '.');
        if (!entry->end)
            assert_int_equal(entry->item, *want - '0');
        job.head = entry->next;
        cachew_batch_release(entry);
    }
    assert_null(job.head);
    job.tail = NULL;
}

/* The trainer was given, and has consumed, this many entries. */
static void trainer_is_at(uint64_t given, uint64_t consumed)
{
    atomic_store(&job.given, given);
    atomic_store(&job.consumed, consumed);
    cw_ledger_settle(&ledger);
}

static bool is_consumed(uint64_t item)
{
    const struct cw_set *set = cw_map_get(&ledger.consumed, 0);
    return set && cw_set_has(set, item);
}

static void items_come_out_in_order(void **state)
{
    (void)state;
    assert_int_equal(put(2), 1);
    assert_int_equal(put(1), 1);
    drain("");
    assert_int_equal(put(0), 1);
    drain("012");
    assert_int_equal(put(4), 1);
    assert_int_equal(put(3), 1);
    drain("34.");
}

static void credit_comes_back_when_given_and_items_count_when_consumed(void **state)
{
    (void)state;
    for (uint64_t item = 0; item < 3; item++)
        assert_int_equal(put(item), 1);
    drain("012");
    assert_int_equal(credit->held, 3 * COST);
    assert_int_equal(cw_ledger_bytes(&ledger), 3 * COST);
    trainer_is_at(2, 1);
    assert_int_equal(credit->held, COST);
    assert_int_equal(cw_ledger_bytes(&ledger), COST);
    assert_true(is_consumed(0) && !is_consumed(1) && !is_consumed(2));
    assert_int_equal(ledger.pos.item, 1);
    trainer_is_at(3, 3);
    assert_int_equal(credit->held, 0);
    assert_true(is_consumed(1) && is_consumed(2));
    assert_int_equal(ledger.pos.item, 3);
    assert_int_equal(ledger.consumed_n, 3);
}

static void duplicates_and_strangers_stay_the_callers(void **state)
{
    (void)state;
    assert_int_equal(put(0), 1);
    assert_int_equal(put(0), 0);
    drain("0");
    assert_int_equal(put(0), 0); /* also once it was given out */
    assert_int_equal(put(ITEMS), CW_E_CORRUPT);
    assert_int_equal(atomic_load(&job.counts.duplicates), 2);
    assert_int_equal(cw_ledger_bytes(&ledger), COST);
    assert_int_equal(credit->held, COST);
}

static void what_is_lost_is_passed_over(void **state)
{
    (void)state;
    assert_int_equal(put(0), 1);
    assert_int_equal(put(3), 1);
    cw_ledger_skip(&ledger, 0, RANGE(1, 3), true);
    drain("03");
    assert_int_equal(atomic_load(&job.counts.lost_items), 2);
    trainer_is_at(1, 1);
    /* Lost items count with the entry before them, so that the position never stands in a hole. */
    assert_true(is_consumed(0) && is_consumed(1) && is_consumed(2) && !is_consumed(3));
}

/* Nothing comes behind it that it could count with: the dispatcher may lease no more before it is
 * consumed. */
static void what_is_lost_is_consumed_at_once_if_unordered(void **state)
{
    (void)state;
    ledger.reorder.conf.unordered = job.unordered = true;
    assert_int_equal(put(1), 1);
    cw_ledger_skip(&ledger, 0, RANGE(0, 3), true);
    assert_true(is_consumed(0) && !is_consumed(1) && is_consumed(2) && !is_consumed(3));
    assert_int_equal(atomic_load(&job.counts.lost_items), 2);
    drain("1");
    trainer_is_at(1, 1);
    assert_true(is_consumed(1));
    cw_ledger_skip(&ledger, 0, RANGE(3, 4), false); /* another consumer has it */
    assert_false(is_consumed(3));
}

static bool is_received(uint64_t item)
{
    const struct cw_set *set = cw_map_get(&ledger.received, 0);
    return set && cw_set_has(set, item);
}

/* As an acknowledgement that was sent. */
static void forget_what_is_new(void)
{
    cw_epoch_sets_clear(&ledger.received);
    cw_epoch_sets_clear(&ledger.consumed);
}

/* Shared: what others have, or what is left out, is leased for this consumer by a dispatcher that
 * does not know. */
static void what_comes_though_it_is_over_is_said_to_be(void **state)
{
    (void)state;
    assert_int_equal(put(0), 1);
    assert_int_equal(put(1), 1);
    drain("01");
    assert_int_equal(put(2), 1);
    cw_ledger_skip(&ledger, 0, RANGE(3, 4), false);
    cw_ledger_skip(&ledger, 0, RANGE(4, 5), true);
    trainer_is_at(1, 1);
    forget_what_is_new();
    for (uint64_t item = 1; item < ITEMS; item++)
        assert_int_equal(put(item), 0);
    /* the trainer has one that it may come back from, the next waits for it */
    assert_true(!is_consumed(1) && !is_received(1) && !is_consumed(2) && !is_received(2));
    assert_true(is_consumed(3) && is_received(3) && is_consumed(4) && is_received(4));
    assert_true(cw_set_has(cw_map_get(&ledger.all_consumed, 0), 3));
    drain("2.");
    forget_what_is_new();
    assert_int_equal(put(2) + put(3), 0); /* also when the epoch is over for it */
    assert_true(!is_consumed(2) && is_consumed(3));
    trainer_is_at(4, 4);
    forget_what_is_new();
    assert_int_equal(put(3), 0);
    assert_true(is_consumed(3));
    assert_null(cw_map_get(&ledger.all_consumed, 0));
}

static void a_duplicate_says_nothing_to_others_than_shared(void **state)
{
    (void)state;
    cw_ledger_skip(&ledger, 0, RANGE(3, 4), true);
    forget_what_is_new();
    assert_int_equal(put(3), 0);
    assert_true(!is_consumed(3) && !is_received(3));
}

/* The hello of the next stream has what was consumed of any epoch. */
static void all_that_is_consumed_is_said_again(void **state)
{
    (void)state;
    struct cw_ack_sets sets = {0};
    ledger.reorder.conf.unordered = job.unordered = true;
    ledger.reorder.conf.epochs = 2;
    cw_ledger_skip(&ledger, 0, RANGE(1, 2), true);
    cw_ledger_skip(&ledger, 1, RANGE(3, 5), true);
    cw_ack_sets_all(&sets, &ledger);
    assert_int_equal(sets.consumed_n, 2);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(sets.consumed[epoch]->epoch, epoch);
        assert_int_equal(sets.consumed[epoch]->n_items, 1);
        assert_int_equal(sets.consumed[epoch]->items[0]->lo, epoch == 0 ? 1 : 3);
    }
    cw_ack_sets_fini(&sets);
}

static uint64_t count_said(const struct cw_ack_sets *sets, size_t i)
{
    uint64_t n = 0;
    for (size_t k = 0; k < sets->consumed[i]->n_items; k++)
        n += sets->consumed[i]->items[k]->hi - sets->consumed[i]->items[k]->lo;
    return n;
}

/* Shared: what others have is said to be consumed in the hello of the next stream, of epochs as well
 * whose end the trainer has not come back from: the dispatcher may have died before it had stored that,
 * and takes what was received of this consumer's items for what it has. */
static void what_others_have_is_said_again(void **state)
{
    (void)state;
    struct cw_ack_sets sets = {0};
    ledger.reorder.conf.epochs = 2;
    assert_int_equal(put(0), 1);
    assert_int_equal(put(1), 1);
    drain("01");
    assert_int_equal(put(2), 1);
    trainer_is_at(1, 1);
    cw_ledger_skip(&ledger, 0, RANGE(3, 5), false);
    cw_ack_sets_all(&sets, &ledger);
    assert_int_equal(sets.consumed_n, 1);
    assert_int_equal(count_said(&sets, 0),
                     3); /* 0, 3 and 4, without what the trainer waits to have */
    assert_int_equal(sets.consumed[0]->items[0]->lo, 0);
    assert_int_equal(sets.consumed[0]->items[0]->hi, 1);
    assert_int_equal(sets.consumed[0]->items[1]->lo, 3);
    cw_ack_sets_fini(&sets);
    drain("2.");
    cw_ledger_skip(&ledger, 1, RANGE(1, 2), false);
    cw_ack_sets_all(&sets, &ledger);
    assert_int_equal(sets.consumed_n, 2);
    assert_int_equal(count_said(&sets, 0), 3); /* (1 and 2 are given out.) */
    assert_int_equal(sets.consumed[1]->epoch, 1);
    assert_int_equal(count_said(&sets, 1), 1);
    cw_ack_sets_fini(&sets);
}

static void the_end_of_the_epoch_moves_the_position(void **state)
{
    (void)state;
    for (uint64_t item = 0; item < ITEMS; item++)
        assert_int_equal(put(item), 1);
    drain("01234.");
    trainer_is_at(ITEMS + 1, ITEMS + 1);
    assert_int_equal(ledger.pos.epoch, 1);
    assert_int_equal(ledger.pos.item, 0);
    assert_int_equal(ledger.ends_open, 0);
    assert_true(cw_reorder_is_over(&ledger.reorder));
}

/* What was received and never given out is freed, and its credit comes back. */
static void nothing_is_left_behind(void **state)
{
    (void)state;
    assert_int_equal(put(1), 1);
    assert_int_equal(put(3), 1);
    assert_int_equal(put(0), 1);
    drain("01");
    trainer_is_at(1, 0);
    assert_int_equal(credit->refs, 1 + 2);
}

/* Sparse jobs: rows are copied when it is an item's turn, so its credit comes back at once. */
static void rows_that_were_walked_hold_no_credit(void **state)
{
    (void)state;
    assert_int_equal(put(1), 1);
    drain("");
    assert_int_equal(cw_ledger_bytes(&ledger), COST);
    assert_int_equal(put(0), 1);
    drain(""); /* no row has survived in them */
    assert_int_equal(cw_ledger_bytes(&ledger), 0);
    assert_int_equal(credit->held, 0);
    assert_int_equal(put(3), 1);
    assert_int_equal(put(4), 1);
    cw_ledger_skip(&ledger, 0, RANGE(2, 3), true);
    drain(".");
    assert_int_equal(cw_ledger_bytes(&ledger), 0);
    trainer_is_at(1, 1);
    assert_true(is_consumed(0) && is_consumed(ITEMS - 1));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(items_come_out_in_order, setup, teardown),
    cmocka_unit_test_setup_teardown(credit_comes_back_when_given_and_items_count_when_consumed,
                                    setup, teardown),
    cmocka_unit_test_setup_teardown(duplicates_and_strangers_stay_the_callers, setup, teardown),
    cmocka_unit_test_setup_teardown(what_is_lost_is_passed_over, setup, teardown),
    cmocka_unit_test_setup_teardown(what_is_lost_is_consumed_at_once_if_unordered, setup, teardown),
    cmocka_unit_test_setup_teardown(what_comes_though_it_is_over_is_said_to_be, setup_shared,
                                    teardown),
    cmocka_unit_test_setup_teardown(a_duplicate_says_nothing_to_others_than_shared, setup,
                                    teardown),
    cmocka_unit_test_setup_teardown(all_that_is_consumed_is_said_again, setup, teardown),
    cmocka_unit_test_setup_teardown(what_others_have_is_said_again, setup_shared, teardown),
    cmocka_unit_test_setup_teardown(the_end_of_the_epoch_moves_the_position, setup, teardown),
    cmocka_unit_test_setup_teardown(nothing_is_left_behind, setup, teardown),
    cmocka_unit_test_setup_teardown(rows_that_were_walked_hold_no_credit, setup_sparse, teardown)};
CW_TESTS_MAIN(tests)
