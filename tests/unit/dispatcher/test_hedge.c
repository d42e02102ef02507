/* SPDX-License-Identifier: Apache-2.0 */
/* How many items are leased to a second worker, because the first one is late. */
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "unit/dispatcher/made_up.h"

static struct cw_client clients[2];
static uint32_t consumers; /* of the job; above 1: coordinated */

static struct cw_job *add_job(uint64_t items, uint32_t window)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 1;
    options->consumers = consumers;
    options->mode =
        consumers > 1 ? CACHEW__V1__CONSUMER_MODE__COORDINATED : CACHEW__V1__CONSUMER_MODE__SINGLE;
    options->window = window;
    info->items = items;
    info->item_bytes = -1;
    return made_up_job("a", options, info);
}

static void receive(struct cw_job *job, uint64_t lo, uint64_t hi)
{
    for (uint32_t c = 0; c < consumers; c++)
        made_up_ack(job, c, 0, lo, hi, false);
}

static void fill(struct cw_job *job)
{
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
}

static uint64_t leased_to(const struct cw_share *share)
{
    uint64_t n = 0;
    for (const struct cw_lease *lease = share ? share->leases : NULL; lease; lease = lease->next)
        n += cw_set_count(&lease->items);
    return n;
}

static bool has(const struct cw_share *share, uint64_t item)
{
    bool found = false;
    for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
        found = found || cw_set_has(&lease->items, item);
    return found;
}

static void shift(struct cw_share *share, int64_t ms)
{
    for (struct cw_lease *lease = share->leases; lease; lease = lease->next)
        lease->given_ms -= ms;
}

static int begin_two(void **state)
{
    consumers = 2;
    return made_up_begin(state);
}

static int begin_one(void **state)
{
    consumers = 1;
    return made_up_begin(state);
}

/* A worker hangs with all 60 items that it was leased, and another one is idle. */
static struct cw_job *begin(struct cw_share **ret_hung, struct cw_share **ret_idle)
{
    struct cw_job *job = add_job(200, 60);
    struct cw_worker *w1 = made_up_worker(1, 8);
    fill(job);
    *ret_hung = cw_share_find(job, w1);
    for (int i = 0; leased_to(*ret_hung) < 60 && i < 10; i++) {
        (*ret_hung)->target = 1000;
        fill(job);
    }
    assert_int_equal(leased_to(*ret_hung), 60);
    job->item_ns = 1e6;
    shift(*ret_hung, 2000); /* that is late, and not very late */
    struct cw_worker *w2 = made_up_worker(2, 8);
    fill(job);
    *ret_idle = cw_share_find(job, w2);
    return job;
}

static void hedges_stay_within_one_item_in_twenty(void **state)
{
    (void)state;
    struct cw_share *hung, *idle;
    struct cw_job *job = begin(&hung, &idle);
    const struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_int_equal(leased_to(idle), 4); /* 1 + 60 / 20 */
    assert_int_equal(epoch->given_n, 64);
    assert_int_equal(epoch->hedged_n, 4);
    assert_int_equal(cw_epoch_may_hedge(epoch), 0);
    receive(job, 0, 4);
    fill(job);
    assert_int_equal(leased_to(idle), 0);
    assert_int_equal(epoch->hedged_n, 4);
}

/* The items come one by one, those that everything waits for. */
static void who_hangs_for_good_holds_up_nobody(void **state)
{
    (void)state;
    struct cw_share *hung, *idle;
    struct cw_job *job = begin(&hung, &idle);
    receive(job, 0, 4);
    shift(hung, 20000);
    for (uint64_t item = 4; item < 30; item++) {
        fill(job);
        assert_int_equal(leased_to(idle), 1);
        assert_true(has(idle, item));
        cw_set_clear(&idle->leases->todo); /* it is computed: the worker is idle again */
        idle->todo_n = 0;
        fill(job);
        assert_int_equal(leased_to(idle), 1); /* and gets nothing before that one has come */
        receive(job, item, item + 1);
    }
}

/* The item that everything waits for is of a client that does not reach the idle worker: no other
 * item is hedged in its place. */
static void nothing_takes_the_place_of_the_item_that_is_waited_for(void **state)
{
    (void)state;
    struct cw_share *hung, *idle;
    struct cw_job *job = begin(&hung, &idle);
    receive(job, 0, 4);
    shift(hung, 20000);
    for (uint32_t c = 0; c < 2; c++)
        job->consumers[c].client = &clients[c];
    cw_unreachable_add(idle, 0, "no such host", cw_clock_ms()); /* that of item 4 */
    fill(job);
    assert_int_equal(leased_to(idle), 0);
    assert_int_equal(cw_job_epoch(job, 0)->hedged_n, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_one, made_up_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hedges_stay_within_one_item_in_twenty),
        TEST(who_hangs_for_good_holds_up_nobody),
        cmocka_unit_test_setup_teardown(nothing_takes_the_place_of_the_item_that_is_waited_for,
                                        begin_two, made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
