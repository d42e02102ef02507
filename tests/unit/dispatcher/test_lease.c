/* SPDX-License-Identifier: Apache-2.0 */
/* Leasing with made-up workers and one client, without streams: what is given, taken back, and
 * that every item comes exactly once. */
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/rng.h"
#include "unit/dispatcher/made_up.h"

static struct cw_job *add_job(const char *id, uint64_t items, uint64_t epochs, uint32_t window)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = epochs;
    options->window = window;
    info->items = items;
    info->item_bytes = -1;
    return made_up_job(id, options, info);
}

static uint64_t leased_of(const struct cw_share *share, struct cw_set *ret_items, uint64_t epoch)
{
    cw_set_clear(ret_items);
    for (const struct cw_lease *lease = share ? share->leases : NULL; lease; lease = lease->next) {
        if (lease->epoch == epoch)
            cw_set_add_all(ret_items, &lease->items);
    }
    return cw_set_count(ret_items);
}

static void ack(struct cw_job *job, uint64_t epoch, uint64_t lo, uint64_t hi, bool consumed)
{
    made_up_ack(job, 0, epoch, lo, hi, consumed);
    cw_job_advance(job);
}

static void done(struct cw_share *share, uint64_t epoch, uint64_t lo, uint64_t hi, uint64_t wall_ns)
{
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};
    Cachew__V1__Progress__Done message = CACHEW__V1__PROGRESS__DONE__INIT;
    interval.lo = lo;
    interval.hi = hi;
    message.epoch = epoch;
    message.n_items = 1;
    message.items = intervals;
    message.wall_ns = wall_ns;
    message.bytes = 100;
    cw_lease_done(share, &message);
}

static void leases_are_disjoint_and_within_the_window(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100, 1, 5);
    struct cw_worker *w1 = made_up_worker(1, 2), *w2 = made_up_worker(2, 2);
    cw_lease_fill_all(&made_up);
    struct cw_set a = {0}, b = {0};
    uint64_t n1 = leased_of(cw_share_find(job, w1), &a, 0),
             n2 = leased_of(cw_share_find(job, w2), &b, 0);
    assert_int_equal(n1 + n2, 5);
    cw_set_add_all(&a, &b);
    assert_int_equal(cw_set_count(&a), 5);
    assert_true(cw_set_has_range(&a, 0, 5));
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up); /* the window is full */
    assert_int_equal(cw_share_find(job, w1)->todo_n + cw_share_find(job, w2)->todo_n, 5);
    ack(job, 0, 0, 2, false); /* received is not consumed: the window stays */
    cw_lease_fill_all(&made_up);
    assert_false(cw_set_has(&cw_job_epoch(job, 0)->leased, 5));
    ack(job, 0, 0, 2, true);
    cw_lease_fill_all(&made_up);
    assert_true(cw_set_has_range(&cw_job_epoch(job, 0)->leased, 2, 7));
    cw_set_fini(&a);
    cw_set_fini(&b);
}

/* In a large fleet workers hold much work, but not of what is left at the end: a worker that turns out
 * to be slow would keep all others waiting. */
static void the_end_is_shared_out_in_small_parts(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 2000, 2, 100000);
    struct cw_worker *w1 = made_up_worker(1, 2), *w2 = made_up_worker(2, 2);
    made_up.workers_n = 10000;
    cw_share_get(job, w1)->target = cw_share_get(job, w2)->target = 750; /* 7.5 s of work */
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    assert_int_equal(cw_share_find(job, w1)->todo_n, 750); /* a further epoch follows */
    ack(job, 0, 0, 2000, true);
    ack(job, 1, 0, 1000, true);
    for (int i = 0; i < 2; i++) {
        cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
    }
    /* A quarter of the 1000 that are left, and no less than two seconds of work. */
    assert_in_range(cw_share_find(job, w1)->todo_n, 200, 250);
    assert_in_range(cw_share_find(job, w2)->todo_n, 200, 250);
    ack(job, 1, 1000, 1900, true);
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    assert_int_equal(cw_share_find(job, w1)->todo_n + cw_share_find(job, w2)->todo_n, 100);
    made_up.workers_n = 0;
}

/* Two jobs of one function: what a worker was leased for the first it gets for the second; but
 * nobody is idle for that. */
static void siblings_go_to_the_same_worker(void **state)
{
    (void)state;
    struct cw_job *first = add_job("a", 100, 1, 8);
    struct cw_worker *w1 = made_up_worker(1, 2), *w2 = made_up_worker(2, 2);
    cw_lease_fill_all(&made_up);
    struct cw_set a = {0}, b = {0};
    assert_int_equal(leased_of(cw_share_find(first, w1), &a, 0), 4);
    assert_int_equal(leased_of(cw_share_find(first, w2), &b, 0), 4);
    ack(first, 0, 0, 2, true); /* who computed it is still known */
    struct cw_job *second = add_job("b", 100, 1, 6);
    assert_ptr_equal(second->next_same_function, first);
    assert_ptr_equal(first->next_same_function, second);
    struct cw_set a2 = {0}, b2 = {0};
    cw_lease_fill_all(&made_up);
    uint64_t n =
        leased_of(cw_share_find(second, w1), &a2, 0) + leased_of(cw_share_find(second, w2), &b2, 0);
    assert_in_range(n, 4, 6);
    for (uint64_t i = 0; i < 6; i++) {
        assert_true(cw_set_has(&a, i) || !cw_set_has(&a2, i));
        assert_true(cw_set_has(&b, i) || !cw_set_has(&b2, i));
    }
    /* With the first worker gone the other takes all. */
    cw_lease_free_all(cw_share_find(second, w1), false);
    w1->draining = true;
    cw_worker_recount(w1);
    cw_share_find(second, w2)->target = 100;
    cw_lease_fill_all(&made_up);
    assert_int_equal(leased_of(cw_share_find(second, w2), &b2, 0), 6);
    cw_job_free(first);
    assert_ptr_equal(second->next_same_function, second);
    cw_set_fini(&a);
    cw_set_fini(&b);
    cw_set_fini(&a2);
    cw_set_fini(&b2);
}

/* One worker has all that the first job was leased; a second worker comes, and helps with the
 * second job. */
static void nobody_is_idle_for_a_sibling(void **state)
{
    (void)state;
    struct cw_job *first = add_job("a", 100, 1, 50);
    struct cw_worker *w1 = made_up_worker(1, 2);
    cw_lease_fill_all(&made_up);
    cw_share_find(first, w1)->target = 100;
    cw_job_leases_due(first);
    cw_lease_fill_all(&made_up);
    assert_int_equal(cw_set_count(&cw_job_epoch(first, 0)->leased), 50);
    struct cw_worker *w2 = made_up_worker(2, 2);
    struct cw_job *second = add_job("b", 100, 1, 50);
    cw_lease_fill_all(&made_up);
    assert_true(cw_share_find(second, w1)->todo_n > 0);
    assert_true(cw_share_find(second, w2)->todo_n > 0);
}

static void the_next_epoch_begins_before_the_last_is_drained(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 3, 0, 8);
    made_up_worker(1, 8);
    cw_lease_fill_all(&made_up);
    assert_true(cw_set_has_range(&cw_job_epoch(job, 0)->leased, 0, 3));
    assert_true(cw_set_has_range(&cw_job_epoch(job, 1)->leased, 0, 3));
    assert_true(cw_set_has_range(&cw_job_epoch(job, 2)->leased, 0, 2));
    ack(job, 0, 0, 3, true);
    assert_int_equal(job->first_epoch, 1);
    assert_null(cw_job_epoch(job, 0));
    ack(job, 0, 0, 3, true); /* late word of an epoch that is over */
    cw_lease_fill_all(&made_up);
    assert_int_equal(job->first_epoch, 1);
}

static void what_a_lost_worker_held_is_leased_again(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100, 1, 6);
    struct cw_worker *w1 = made_up_worker(1, 4);
    cw_lease_fill_all(&made_up);
    struct cw_share *share = cw_share_find(job, w1);
    assert_int_equal(share->todo_n, 6);
    done(share, 0, 0, 3, 1000000);
    ack(job, 0, 0, 2, false);
    /* 2 is computed, and not received: it would be lost with the worker */
    assert_int_equal(share->todo_n, 3);
    struct cw_worker *w2 = made_up_worker(2, 4);
    cw_lease_free_all(share, false);
    w1->draining = true;
    cw_worker_recount(w1);
    cw_lease_fill_all(&made_up);
    struct cw_set items = {0};
    assert_int_equal(leased_of(cw_share_find(job, w2), &items, 0), 4);
    assert_true(cw_set_has_range(&items, 2, 6));
    cw_set_fini(&items);
}

static void a_hedge_ends_with_the_first_copy(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 2, 1, 2);
    struct cw_worker *w1 = made_up_worker(1, 1);
    cw_lease_fill_all(&made_up);
    struct cw_share *late = cw_share_find(job, w1);
    assert_int_equal(late->todo_n, 2);
    job->item_ns = 1e6;
    late->leases->given_ms -= 60000;
    struct cw_worker *w2 = made_up_worker(2, 1);
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    struct cw_share *hedge = cw_share_find(job, w2);
    assert_int_equal(hedge->todo_n, 1);
    assert_int_equal(job->hedged, 1);
    cw_lease_free_all(hedge, false); /* the second one is lost: the first still has it */
    assert_true(cw_set_has(&cw_job_epoch(job, 0)->leased, 0));
    ack(job, 0, 0, 1, false);
    assert_int_equal(late->todo_n, 1);
    assert_false(cw_set_has(&cw_job_epoch(job, 0)->leased, 0));
}

static void leases_grow_with_the_rate(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 1000000, 1, 100000);
    struct cw_worker *w = made_up_worker(1, 1);
    cw_lease_fill_all(&made_up);
    struct cw_share *share = cw_share_find(job, w);
    assert_int_equal(share->todo_n, 2);
    for (uint64_t at = 0, round = 0; round < 6; round++) {
        uint64_t n = share->todo_n;
        done(share, 0, at, at + n, n * 100000); /* 0.1 ms each: 10,000 a second */
        at += n;
        cw_lease_fill_all(&made_up);
    }
    assert_in_range(share->target, 1000, 40000);
    assert_true(share->todo_n >= share->target / 2);
}

/* The trainer takes items in order: each worker's lie between the other's, also when only one of
 * them has little left. */
static void items_alternate_between_workers(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100000, 1, 10000);
    struct cw_worker *w1 = made_up_worker(1, 1), *w2 = made_up_worker(2, 1);
    struct cw_share *s1 = cw_share_get(job, w1), *s2 = cw_share_get(job, w2);
    struct cw_set a = {0}, b = {0};
    s1->target = s2->target = 160;
    cw_lease_fill_all(&made_up);
    assert_int_equal(leased_of(s1, &a, 0), 160);
    assert_int_equal(leased_of(s2, &b, 0), 160);
    assert_int_equal(a.n, 16);
    assert_int_equal(b.n, 16);
    assert_null(s1->leases->next); /* told in one message */
    for (size_t i = 0; i < 6; i++)
        ack(job, 0, a.v[i].lo, a.v[i].hi, true);
    for (size_t i = 0; i < 10; i++)
        ack(job, 0, b.v[i].lo, b.v[i].hi, true);
    assert_int_equal(s1->todo_n, 100); /* enough, by itself */
    assert_int_equal(s2->todo_n, 60);
    cw_lease_fill_all(&made_up);
    cw_set_clear(&a);
    cw_set_clear(&b);
    (void)leased_of(s1, &a, 0);
    (void)leased_of(s2, &b, 0);
    for (uint64_t at = 320; at < 440; at += 20)
        assert_true(cw_set_has(&a, at) != cw_set_has(&a, at + 10) &&
                    cw_set_has(&a, at) == cw_set_has(&b, at + 10));
    cw_set_fini(&a);
    cw_set_fini(&b);
}

/* The others would wait for it. But if the fast one is stuck, the slow one does all. */
static void a_slow_worker_gets_what_is_needed_later(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 1000, 1, 200);
    struct cw_worker *fast = made_up_worker(1, 1), *slow = made_up_worker(2, 1);
    struct cw_share *of_fast = cw_share_get(job, fast), *of_slow = cw_share_get(job, slow);
    struct cw_set items = {0};
    cw_lease_fill_all(&made_up);
    for (int i = 0; i < 2; i++) {
        struct cw_share *share = i ? of_slow : of_fast;
        leased_of(share, &items, 0);
        for (size_t k = 0; k < items.n; k++)
            done(share, 0, items.v[k].lo, items.v[k].hi,
                 (items.v[k].hi - items.v[k].lo) * (i ? 2000000000 : 50000000));
    }
    uint64_t had = cw_set_first_absent(&job->epochs[0]->leased, 0);
    ack(job, 0, 0, had, true);
    job->consume_rate = 20;
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    assert_true(leased_of(of_fast, &items, 0) > 0);
    assert_int_equal(items.v[0].lo, had);
    assert_true(leased_of(of_slow, &items, 0) > 0);
    assert_int_equal(items.v[0].lo, had + 80); /* twice two seconds */
    cw_lease_free_all(of_slow, false);
    cw_lease_free_all(of_fast, false);
    job->consume_rate = 120; /* everything that it could compute comes too late */
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    assert_int_equal(leased_of(of_slow, &items, 0), 0);
    of_fast->done_ms = of_fast->leases->given_ms = cw_clock_ms() - 60000;
    cw_job_leases_due(job);
    uint64_t next = cw_set_first_absent(&job->epochs[0]->leased, had);
    cw_lease_fill_all(&made_up);
    assert_true(leased_of(of_slow, &items, 0) > 0);
    assert_int_equal(items.v[0].lo, next);
    cw_set_fini(&items);
}

/* What is free below the items of a slow worker was not lost: others get no more of it than else. */
static void what_a_slow_worker_leaves_is_no_hole(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 1000, 1, 200);
    struct cw_worker *fast = made_up_worker(1, 1), *slow = made_up_worker(2, 1);
    struct cw_share *of_fast = cw_share_get(job, fast), *of_slow = cw_share_get(job, slow);
    struct cw_set items = {0};
    cw_job_open_epoch(job, 0);
    of_fast->item_ns = 5e7;
    of_slow->item_ns = 2e9;
    of_fast->target = of_slow->target = 20;
    job->consume_rate = 20;
    for (int i = 0; i < 3; i++) {
        cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
        assert_int_equal(of_fast->todo_n, 20);
        assert_true(leased_of(of_slow, &items, 0) > 0);
        assert_int_equal(items.v[0].lo, 80);
    }
    assert_int_equal(cw_set_first_absent(&job->epochs[0]->leased, 0), 20);
    cw_set_clear(&items);
    cw_set_add(&items, 5, 10); /* these were lost */
    cw_lease_free(of_fast, 0, &items, true);
    of_fast->target = 8; /* it has more than enough */
    of_slow->todo_n = 100;
    cw_lease_fill_all(&made_up);
    assert_int_equal(of_fast->todo_n, 15 + 8);
    assert_true(cw_set_first_absent(&job->epochs[0]->leased, 0) > 20);
    of_slow->todo_n = leased_of(of_slow, &items, 0);
    cw_set_fini(&items);
}

/* ---- on virtual time ---- */

static int64_t virtual_ms; /* 0: time is that of the clock */

int64_t __real_cw_clock_ms(void);
int64_t __wrap_cw_clock_ms(void);
int64_t __wrap_cw_clock_ms(void)
{
    return virtual_ms > 0 ? virtual_ms : __real_cw_clock_ms();
}

/* Computes one item after the other, the lowest first. */
struct computing {
    struct cw_share *share;
    int64_t item_ms;  /* what an item takes */
    int64_t stall_ms; /* what the next one takes besides */
    uint64_t item;
    int64_t begun_ms, ends_ms; /* 0: it computes nothing */
    uint64_t computed_n;
};

static bool lowest_todo(const struct cw_share *share, uint64_t *ret_item)
{
    bool found = false;
    for (const struct cw_lease *lease = share->leases; lease; lease = lease->next) {
        if (lease->todo.n > 0 && (!found || lease->todo.v[0].lo < *ret_item)) {
            *ret_item = lease->todo.v[0].lo;
            found = true;
        }
    }
    return found;
}

static void compute(struct cw_job *job, struct computing *it)
{
    if (it->ends_ms > 0 && virtual_ms >= it->ends_ms) {
        done(it->share, 0, it->item, it->item + 1,
             (uint64_t)(it->ends_ms - it->begun_ms) * 1000000);
        ack(job, 0, it->item, it->item + 1, false);
        it->computed_n++;
        it->ends_ms = 0;
    }
    if (it->ends_ms == 0 && lowest_todo(it->share, &it->item)) {
        it->begun_ms = virtual_ms;
        it->ends_ms = virtual_ms + it->item_ms + it->stall_ms;
        it->stall_ms = 0;
    }
}

/* Two workers compute. The trainer takes an item each 60 ms if it has it, and says so each 50 ms.
 * Returns for how long it has waited altogether. */
static int64_t pass(struct cw_job *job, struct computing *of, int64_t ms)
{
    uint64_t next = cw_epoch_lowest_unconsumed(job->epochs[0]);
    int64_t waited_ms = 0, taken_ms = virtual_ms;
    for (const int64_t until = virtual_ms + ms; virtual_ms < until; virtual_ms++) {
        compute(job, &of[0]);
        compute(job, &of[1]);
        const bool wants = virtual_ms - taken_ms >= 60,
                   takes = wants && cw_set_has(&job->epochs[0]->received, next);
        next += takes;
        taken_ms = takes ? virtual_ms : taken_ms;
        waited_ms += wants && !takes;
        if (virtual_ms % 50 == 0 && next > 0)
            ack(job, 0, 0, next, true);
        if (virtual_ms % 250 == 0) /* as cw_job_tick does */
            cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
    }
    return waited_ms;
}

static struct cw_job *begin_virtual(struct computing *of, int64_t item_ms, int64_t other_ms)
{
    virtual_ms = 1000000;
    struct cw_job *job = add_job("a", 1000000, 1, 20);
    const int64_t takes_ms[] = {item_ms, other_ms};
    for (int i = 0; i < 2; i++) {
        struct cw_worker *worker = made_up_worker((uint64_t)i + 1, 1);
        of[i] = (struct computing){.share = cw_share_get(job, worker), .item_ms = takes_ms[i]};
    }
    job->consume_rate = 16;
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    return job;
}

static int end_virtual(void **state)
{
    virtual_ms = 0;
    return made_up_end(state);
}

/* Both are needed. A fill has an item or two, which the one with little to do must get. */
static void nobody_is_idle_while_another_has_plenty(void **state)
{
    (void)state;
    struct computing of[2];
    struct cw_job *job = begin_virtual(of, 100, 100);
    (void)pass(job, of, 20000);
    const int64_t waited_ms = pass(job, of, 20000);
    assert_in_range(waited_ms, 0, 1000);
}

/* Neither of the workers is enough by itself, and one takes long for its first item. */
static void who_was_slow_once_is_tried_again(void **state)
{
    (void)state;
    struct computing of[2];
    struct cw_job *job = begin_virtual(of, 100, 100);
    of[1].stall_ms = 10000;
    (void)pass(job, of, 80000);
    const uint64_t before[] = {of[0].computed_n, of[1].computed_n};
    const int64_t waited_ms = pass(job, of, 20000);
    assert_true(of[1].computed_n - before[1] > (of[0].computed_n - before[0]) / 2);
    assert_in_range(waited_ms, 0, 1000);
}

/* The first worker is enough, and the second is never of use: that it is tried costs little, since
 * the first computes what is late. */
static void trying_who_stays_slow_costs_little(void **state)
{
    (void)state;
    struct computing of[2];
    struct cw_job *job = begin_virtual(of, 50, 5000);
    (void)pass(job, of, 30000);
    const uint64_t before = of[1].computed_n;
    const int64_t waited_ms = pass(job, of, 100000);
    assert_in_range(of[1].computed_n - before, 1, 5);
    assert_in_range(waited_ms, 0, 10000);
}

static void a_fixed_lease_length_is_kept(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100, 1, 50);
    job->options->lease_items = 7;
    struct cw_worker *w = made_up_worker(1, 1);
    cw_lease_fill_all(&made_up);
    struct cw_share *share = cw_share_find(job, w);
    assert_int_equal(cw_set_count(&share->leases->items), 7);
}

static void two_jobs_share_a_worker(void **state)
{
    (void)state;
    struct cw_job *a = add_job("a", 1000, 1, 100), *b = add_job("b", 1000, 1, 100);
    struct cw_worker *w = made_up_worker(1, 2);
    cw_lease_fill_all(&made_up);
    assert_int_equal(cw_share_find(a, w)->todo_n, cw_share_find(b, w)->todo_n);
    assert_true(cw_share_find(a, w)->todo_n > 0);
}

static void an_item_that_kills_is_named(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100, 1, 50);
    const uint64_t poison = 2;
    uint64_t next_id = 1;
    int deaths = 0;
    for (int step = 0; step < 100 && job->status == CW_JOB_RUNNING; step++) {
        struct cw_worker *w = made_up.workers && !made_up.workers->draining
                                  ? made_up.workers
                                  : made_up_worker(next_id++, 4);
        cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
        struct cw_share *share = cw_share_find(job, w);
        struct cw_set items = {0};
        leased_of(share, &items, 0);
        if (cw_set_has(&items, poison)) {
            deaths++;
            cw_job_blame_items(share);
            cw_lease_free_all(share, false);
            w->draining = true;
        } else { /* it computes what it has */
            for (size_t i = 0; i < items.n; i++)
                ack(job, 0, items.v[i].lo, items.v[i].hi, true);
        }
        cw_set_fini(&items);
    }
    assert_non_null(strstr(job->error, "item 2 "));
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_true(deaths <= 5);
}

static void a_failing_item_is_tried_elsewhere_then_fails_the_job(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100, 1, 4);
    struct cw_worker *w[2] = {made_up_worker(1, 4), made_up_worker(2, 4)};
    char text[] = "no memory";
    for (int attempt = 0; attempt < CW_ATTEMPTS_MAX; attempt++) {
        cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
        int holder = -1;
        for (int i = 0; i < 2; i++) {
            struct cw_set items = {0};
            leased_of(cw_share_find(job, w[i]), &items, 0);
            if (cw_set_has(&items, 0))
                holder = i;
            cw_set_fini(&items);
        }
        assert_int_not_equal(holder, -1);
        if (attempt > 0)
            assert_int_not_equal(w[holder]->id, cw_item_faults_find(job, 0, 0)->worker_id);
        struct cw_set item = {0};
        cw_set_add(&item, 0, 1);
        cw_lease_free(cw_share_find(job, w[holder]), 0, &item, false);
        cw_set_fini(&item);
        Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
        failed.code = CW_E_NOMEM;
        failed.error = text;
        cw_job_item_failed(job, w[holder], &failed);
        done(cw_share_find(job, w[0]), 0, 1, 4, 1000);
        done(cw_share_find(job, w[1]), 0, 1, 4, 1000);
    }
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_int_equal(job->error_code, CW_E_NOMEM);
    assert_non_null(strstr(job->error, "no memory"));
}

static void die_at(struct cw_job *job, struct cw_worker *worker, uint64_t item)
{
    struct cw_share *share = cw_share_get(job, worker);
    struct cw_lease *lease = CW_NEW(struct cw_lease);
    cw_set_add(&lease->items, item, item + 1);
    cw_set_add(&lease->todo, item, item + 1);
    cw_set_add(&cw_job_open_epoch(job, 0)->leased, item, item + 1);
    share->leases = lease;
    share->todo_n = 1;
    cw_job_blame_items(share);
    cw_lease_free_all(share, false);
}

/* However many may die, each counts once, and not at all when it was only cut off. */
static void all_deaths_are_remembered(void **state)
{
    (void)state;
    enum { MAX = 50 };
    made_up.options.deaths_max = MAX;
    struct cw_job *job = add_job("a", 100, 1, 5);
    struct cw_worker *workers[MAX];
    for (uint64_t i = 0; i < MAX; i++)
        workers[i] = made_up_worker(i + 1, 1);
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < MAX - 1; i++)
            die_at(job, workers[i], 7);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    for (size_t i = 0; i < MAX - 1; i += 2)
        cw_item_faults_forgive(&made_up, workers[i]->id, "");
    die_at(job, workers[MAX - 1], 7);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    for (size_t i = 0; i < MAX - 1; i += 2)
        die_at(job, workers[i], 7);
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_non_null(strstr(job->error, "50 workers died"));
}

static void hear_preparing(struct cw_worker *worker, const char *id, uint64_t steps, int64_t now)
{
    cw_autofree char *job_id = cw_mem_strdup(id);
    Cachew__V1__Progress__Preparing preparing = CACHEW__V1__PROGRESS__PREPARING__INIT,
                                    *all[] = {&preparing};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    preparing.job_id = job_id;
    preparing.steps = steps;
    progress.preparing = all;
    progress.n_preparing = 1;
    cw_job_note_preparing(worker, &progress, now);
}

static void a_preparation_comes_on_with_its_steps(void **state)
{
    (void)state;
    struct cw_job *job = add_job("a", 100, 1, 5);
    struct cw_worker *worker = made_up_worker(1, 1), *other = made_up_worker(2, 1);
    cw_strmap_set(&made_up.jobs_by_id, job->id, job);
    job->preparing = worker;
    hear_preparing(worker, job->id, 7, 1000);
    assert_int_equal(job->preparing_ms, 1000);
    hear_preparing(worker, job->id, 7, 2000); /* it hangs */
    hear_preparing(worker, "b", 9, 2000);
    hear_preparing(other, job->id, 9, 2000); /* asked for before another was */
    assert_int_equal(job->preparing_ms, 1000);
    hear_preparing(worker, job->id, 8, 3000);
    assert_int_equal(job->preparing_ms, 3000);
    job->preparing = NULL;
}

/* A random run of deaths, hand-backs, receipts out of order: at its end everything was received
 * once each, in bounded steps. */
static void chaos_ends_with_everything_received_once(void **state)
{
    (void)state;
    enum { ITEMS = 40, EPOCHS = 3 };
    struct cw_rng rng;
    uint32_t draw = 0;
    cw_rng_init(&rng, 42, 0, 0, 0, 0);
    made_up.options.deaths_max = 1000;
    struct cw_job *job = add_job("a", ITEMS, EPOCHS, 9);
    uint64_t next_id = 1, received[EPOCHS][ITEMS] = {
                              {0},
                          };
    for (; next_id < 4; next_id++)
        made_up_worker(next_id, 1 + (uint32_t)next_id % 3);
    for (int step = 0; step < 200000 && job->status == CW_JOB_RUNNING; step++) {
        cw_job_leases_due(job);
        cw_lease_fill_all(&made_up);
        struct cw_share *share = job->shares;
        for (uint64_t skip = cw_rng_below(&rng, draw++, 4); skip > 0 && share && share->next_of_job;
             skip--)
            share = share->next_of_job;
        if (!share || !share->leases)
            continue;
        uint64_t epoch = share->leases->epoch, item = share->leases->items.v[0].lo,
                 what = cw_rng_below(&rng, draw++, 10);
        if (what == 0) {
            cw_job_blame_items(share);
            cw_lease_free_all(share, false);
        } else if (what == 1) {
            struct cw_set one = {0};
            cw_set_add(&one, item, item + 1);
            cw_lease_free(share, epoch, &one, false);
            cw_set_fini(&one);
        } else {
            assert_true(epoch < EPOCHS && item < ITEMS);
            received[epoch][item]++;
            ack(job, epoch, item, item + 1, what % 2 != 0);
            ack(job, epoch, item, item + 1, true);
        }
    }
    assert_int_equal(job->status, CW_JOB_FINISHED);
    for (int e = 0; e < EPOCHS; e++) {
        for (int i = 0; i < ITEMS; i++)
            assert_int_equal(received[e][i], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leases_are_disjoint_and_within_the_window, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(the_end_is_shared_out_in_small_parts, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(siblings_go_to_the_same_worker, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(nobody_is_idle_for_a_sibling, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(the_next_epoch_begins_before_the_last_is_drained,
                                        made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(what_a_lost_worker_held_is_leased_again, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(a_hedge_ends_with_the_first_copy, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(leases_grow_with_the_rate, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(items_alternate_between_workers, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(a_slow_worker_gets_what_is_needed_later, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(what_a_slow_worker_leaves_is_no_hole, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(nobody_is_idle_while_another_has_plenty, made_up_begin,
                                        end_virtual),
        cmocka_unit_test_setup_teardown(who_was_slow_once_is_tried_again, made_up_begin,
                                        end_virtual),
        cmocka_unit_test_setup_teardown(trying_who_stays_slow_costs_little, made_up_begin,
                                        end_virtual),
        cmocka_unit_test_setup_teardown(a_fixed_lease_length_is_kept, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(two_jobs_share_a_worker, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(an_item_that_kills_is_named, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_failing_item_is_tried_elsewhere_then_fails_the_job,
                                        made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(all_deaths_are_remembered, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_preparation_comes_on_with_its_steps, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(chaos_ends_with_everything_received_once, made_up_begin,
                                        made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
