/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that one client cannot reach: what is taken from them, and what they still get. */
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/made_up.h"

static struct cw_client clients[3];

static struct cw_job *add_job(enum cw_mode mode, uint32_t consumers, const char *autoscale)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 1;
    options->window = 12;
    options->mode = (Cachew__V1__ConsumerMode)mode;
    options->consumers = consumers;
    options->autoscale = cw_mem_strdup(autoscale);
    info->items = 100;
    info->item_bytes = -1;
    struct cw_job *job = made_up_job("a", options, info);
    for (uint32_t c = 0; c < consumers; c++)
        job->consumers[c].client = &clients[c];
    return job;
}

static void leased_of(const struct cw_share *share, struct cw_set *ret_items)
{
    cw_set_clear(ret_items);
    for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
        cw_set_add_all(ret_items, &lease->items);
}

/* Returns how many items of the consumer the share has; all of `job`. */
static uint64_t leased_for(const struct cw_share *share, uint32_t consumer)
{
    struct cw_set items = {0};
    uint64_t n = 0;
    leased_of(share, &items);
    for (uint64_t item = 0; item < 100; item++)
        n += cw_set_has(&items, item) && item % share->job->layout.consumers == consumer;
    cw_set_fini(&items);
    return n;
}

static void lose(struct cw_share *share, uint32_t consumer)
{
    cw_unreachable_add(share, consumer, "no such host", cw_clock_ms());
    cw_lease_free_consumer(share, consumer);
    cw_job_leases_due(share->job);
    cw_lease_fill_all(&made_up);
}

static void test_only_its_own_items_are_taken(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_COORDINATED, 2, "off");
    struct cw_worker *w1 = made_up_worker(1, 2), *w2 = made_up_worker(2, 2);
    cw_lease_fill_all(&made_up);
    struct cw_share *one = cw_share_find(job, w1), *two = cw_share_find(job, w2);
    uint64_t before = leased_for(one, 0) + leased_for(two, 0), kept = leased_for(one, 1);
    assert_true(leased_for(one, 0) > 0 && kept > 0);
    lose(one, 0);
    assert_int_equal(leased_for(one, 0), 0);
    assert_true(leased_for(one, 1) >= kept);
    assert_true(leased_for(two, 0) >= before);
}

/* Each of two workers is reached by one of two consumers: both go on. */
static void test_pairs_that_do_not_meet(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_COORDINATED, 2, "off");
    struct cw_worker *w1 = made_up_worker(1, 2), *w2 = made_up_worker(2, 2);
    cw_lease_fill_all(&made_up);
    struct cw_share *one = cw_share_find(job, w1), *two = cw_share_find(job, w2);
    lose(one, 0);
    lose(two, 1);
    assert_true(leased_for(one, 1) > 0);
    assert_true(leased_for(two, 0) > 0);
    assert_int_equal(leased_for(one, 0) + leased_for(two, 1), 0);
}

static void test_nothing_is_leased_until_it_is_found(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_SINGLE, 1, "off");
    struct cw_worker *w1 = made_up_worker(1, 2);
    cw_lease_fill_all(&made_up);
    struct cw_share *one = cw_share_find(job, w1);
    int64_t now = cw_clock_ms();
    uint64_t n = leased_for(one, 0);
    assert_true(n > 0);
    lose(one, 0);
    assert_int_equal(leased_for(one, 0), 0);
    assert_string_equal(cw_unreachable_any(one, now)->why, "no such host");
    assert_false(cw_unreachable_add(one, 0, "again", now));
    assert_null(cw_unreachable_find(one, 0, now + CW_UNREACHABLE_MS + 1000));
    cw_unreachable_remove(one, 0);
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    assert_int_equal(leased_for(one, 0), n);
}

static void test_shared_items_go_to_who_reaches_the_worker(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_SHARED, 2, "off");
    struct cw_share *one = cw_share_get(job, made_up_worker(1, 2));
    lose(one, 0);
    assert_non_null(one->leases);
    for (const struct cw_lease *lease = one->leases; lease; lease = lease->next)
        assert_int_equal(lease->consumer, 1);
    lose(one, 1);
    assert_null(one->leases);
}

/* A consumer that is in the next epoch would drop what comes of this one. */
static void test_shared_items_of_an_epoch_that_is_over_for_one(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_SHARED, 2, "off");
    struct cw_share *one = cw_share_get(job, made_up_worker(1, 2));
    job->consumers[0].position.epoch = 1;
    cw_lease_fill_all(&made_up);
    assert_non_null(one->leases);
    for (const struct cw_lease *lease = one->leases; lease; lease = lease->next)
        assert_int_equal(lease->consumer, 1);
}

/* Then it says that the item is over: nobody else would. */
static void test_shared_items_of_an_epoch_that_is_over_for_all(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_SHARED, 2, "off");
    struct cw_share *one = cw_share_get(job, made_up_worker(1, 2));
    job->consumers[0].position.epoch = 1;
    job->consumers[1].client = NULL;
    cw_lease_fill_all(&made_up);
    assert_non_null(one->leases);
    for (const struct cw_lease *lease = one->leases; lease; lease = lease->next)
        assert_int_equal(lease->consumer, 0);
}

/* Everybody gets every item, so a worker that one cannot reach is of no use. */
static void test_items_for_all(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_COORDINATED, 2, "off");
    job->layout.to_all = true;
    struct cw_share *one = cw_share_get(job, made_up_worker(1, 2));
    assert_false(cw_unreachable_bars(one, 0));
    cw_unreachable_add(one, 1, "", 0);
    assert_true(cw_unreachable_bars(one, 1));
    assert_false(cw_unreachable_bars(one, CW_UNREACHABLE_MS));
}

/* A job of one worker is given another one, if there is another. */
static void test_it_is_replaced(void **state)
{
    (void)state;
    struct cw_job *job = add_job(CW_MODE_SINGLE, 1, "fixed:1");
    struct cw_worker *w1 = made_up_worker(1, 2);
    (void)cw_scaling_assign(&made_up, 1000);
    struct cw_share *one = cw_share_find(job, w1);
    assert_true(one->assigned);
    cw_unreachable_add(one, 0, "no such host", 1000);
    (void)cw_scaling_assign(&made_up, 9000);
    assert_true(one->assigned); /* there is no other */
    struct cw_worker *w2 = made_up_worker(2, 2);
    cw_unreachable_add(one, 0, "no such host", 9000);
    (void)cw_scaling_assign(&made_up, 9001);
    assert_false(one->assigned);
    assert_true(cw_share_find(job, w2)->assigned);
    (void)cw_scaling_assign(&made_up, 9002);
    assert_int_equal(job->assigned_n, 1);
    assert_false(one->assigned);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin, made_up_end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_only_its_own_items_are_taken),
        TEST(test_pairs_that_do_not_meet),
        TEST(test_nothing_is_leased_until_it_is_found),
        cmocka_unit_test_setup_teardown(test_shared_items_go_to_who_reaches_the_worker,
                                        made_up_begin_stored, made_up_end_stored),
        cmocka_unit_test_setup_teardown(test_shared_items_of_an_epoch_that_is_over_for_one,
                                        made_up_begin_stored, made_up_end_stored),
        cmocka_unit_test_setup_teardown(test_shared_items_of_an_epoch_that_is_over_for_all,
                                        made_up_begin_stored, made_up_end_stored),
        TEST(test_items_for_all),
        TEST(test_it_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
