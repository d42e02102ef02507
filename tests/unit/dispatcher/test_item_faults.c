/* SPDX-License-Identifier: Apache-2.0 */
/* Items that fail or kill: what is to be done about them. Nothing here has streams or a store. */
#include <string.h>

#include "dispatcher/model/model.h"
#include "unit/dispatcher/made_up.h"
#include "support/ranges.h"

#define ITEMS 100

static struct cw_job *add_job(void)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    info->items = ITEMS;
    info->item_bytes = -1;
    struct cw_job *job = made_up_job("j", options, info);
    (void)cw_job_open_epoch(job, 0);
    return job;
}

static int fail_item(struct cw_job *job, const struct cw_worker *worker, uint64_t item,
                     bool element, char **ret_why)
{
    char text[] = "no memory";
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    failed.item = item;
    failed.code = CW_E_NOMEM;
    failed.error = text;
    failed.element = element;
    return cw_item_faults_failed(job, worker, &failed, ret_why);
}

static void an_item_is_retried_a_few_times(void **state)
{
    (void)state;
    struct cw_worker *w = made_up_worker(1, 1);
    struct cw_job *job = add_job();
    cw_autofree char *why = NULL;
    for (int i = 1; i < CW_ATTEMPTS_MAX; i++)
        assert_int_equal(fail_item(job, w, 7, false, &why), 1);
    assert_null(why);
    assert_int_equal(fail_item(job, w, 8, false, &why), 1); /* each item by itself */
    assert_int_equal(fail_item(job, w, 7, false, &why), CW_E_NOMEM);
    assert_non_null(strstr(why, "item 7 of epoch 0 failed on 3 attempts"));
    assert_non_null(strstr(why, "no memory"));
    assert_int_equal(job->status, CW_JOB_RUNNING); /* the caller fails it */
}

static void a_bad_element_is_not_retried(void **state)
{
    (void)state;
    struct cw_worker *w = made_up_worker(1, 1);
    struct cw_job *job = add_job();
    cw_autofree char *why = NULL;
    assert_int_equal(fail_item(job, w, 7, true, &why), CW_E_NOMEM);
    assert_string_equal(why, "no memory");
    assert_null(cw_item_faults_find(job, 0, 7));
}

static void what_was_received_cannot_fail(void **state)
{
    (void)state;
    struct cw_worker *w = made_up_worker(1, 1);
    struct cw_job *job = add_job();
    struct cw_set fresh = {0};
    cw_autofree char *why = NULL;
    cw_epoch_receive(cw_job_epoch(job, 0), 0, RANGE(7, 8), &fresh);
    cw_set_fini(&fresh);
    assert_int_equal(fail_item(job, w, 7, true, &why), 0);
    assert_int_equal(fail_item(job, w, ITEMS, true, &why), 0); /* there is no such item */
    assert_null(why);
    assert_int_equal(job->faults_n, 0);
}

static void it_is_retried_on_another_worker(void **state)
{
    (void)state;
    struct cw_worker *w1 = made_up_worker(1, 1), *w2 = made_up_worker(2, 1);
    struct cw_job *job = add_job();
    struct cw_share *s1 = cw_share_get(job, w1), *s2 = cw_share_get(job, w2);
    const struct cw_interval from_5 = {5, 20}, from_7 = {7, 20};
    cw_autofree char *why = NULL;
    assert_int_equal(fail_item(job, w1, 7, false, &why), 1);
    assert_int_equal(cw_item_faults_allow(s1, 0, &from_5), 2);
    assert_int_equal(cw_item_faults_allow(s1, 0, &from_7), 0);
    assert_int_equal(cw_item_faults_allow(s2, 0, &from_7), 13);
    w2->draining = true; /* nobody else could do it */
    assert_int_equal(cw_item_faults_allow(s1, 0, &from_7), 13);
    struct cw_set items = {0};
    cw_set_add(&items, 7, 8);
    w2->draining = false;
    cw_item_faults_received(job, 0, &items); /* it has come after all */
    assert_int_equal(cw_item_faults_allow(s1, 0, &from_7), 13);
    cw_set_fini(&items);
}

/* More are not noted than there is room for: the oldest go. Those that were received go from
 * wherever they are. */
static void the_oldest_faults_are_forgotten(void **state)
{
    (void)state;
    enum { ROOM = 4096, MORE = 100 };
    struct cw_worker *w = made_up_worker(1, 1);
    struct cw_job *job = add_job();
    struct cw_set odd = {0};
    cw_autofree char *why = NULL;
    job->epochs[0]->items = ROOM + MORE;
    for (uint64_t item = 0; item < ROOM + MORE; item++)
        assert_int_equal(fail_item(job, w, item, false, &why), 1);
    assert_int_equal(job->faults_n, ROOM);
    for (uint64_t item = 0; item < ROOM + MORE; item++) {
        const struct cw_item_fault *fault = cw_item_faults_find(job, 0, item);
        assert_true(item < MORE ? !fault : fault && fault->item == item && fault->failures == 1);
        assert_null(cw_item_faults_find(job, 1, item));
        if (item % 2)
            cw_set_add(&odd, item, item + 1);
    }
    cw_item_faults_received(job, 0, &odd);
    assert_int_equal(job->faults_n, ROOM / 2);
    for (uint64_t item = MORE; item < ROOM + MORE; item++)
        assert_true(!cw_item_faults_find(job, 0, item) == (item % 2 == 1));
    cw_item_faults_forget(job, 1);
    assert_true(job->faults_n == 0 && !job->faults && !job->faults_last);
    assert_int_equal(fail_item(job, w, 5, false, &why), 1);
    assert_int_equal(cw_item_faults_find(job, 0, 5)->failures, 1);
    cw_set_fini(&odd);
}

/* What is left out by request is noted in epochs that are open, and in those that are opened later;
 * whoever has clients sends it. */
static void what_is_left_out_waits_to_be_sent(void **state)
{
    (void)state;
    struct cw_job *job = add_job();
    struct cw_set items = {0};
    cw_set_add(&items, 10, 20);
    cw_job_skips_load(job, 0, &items);
    assert_true(cw_set_has_range(&cw_job_epoch(job, 0)->skipped_unsent, 10, 20));
    assert_int_equal(job->skipped_items, 10);
    made_up.due.left_out = false;
    cw_job_skips_apply(job, cw_job_epoch(job, 0)); /* nothing new */
    assert_false(made_up.due.left_out);
    cw_job_skips_load(job, 1, &items); /* it is not open yet */
    assert_false(made_up.due.left_out);
    const struct cw_epoch *next = cw_job_open_epoch(job, 1);
    assert_true(made_up.due.left_out);
    assert_int_equal(cw_set_count(&next->skipped_unsent), 10);
    cw_set_fini(&items);
}

/* ---- operators of plugins ---- */

static int say_died(struct cw_job *job, uint64_t worker_id, bool has_item, char **ret_why)
{
    char text[] = "node \"n\", operator lab.x, element 7: it died of SIGSEGV";
    Cachew__V1__Died died = CACHEW__V1__DIED__INIT;
    died.worker_id = worker_id;
    died.has_item = has_item;
    died.item = 7;
    died.text = text;
    cw_item_faults_forgive(&made_up, worker_id, "");
    return cw_item_faults_operator_died(job, &died, ret_why);
}

/* The item is named by the third death, and what else a worker had is not blamed. */
static void an_operator_is_blamed_by_name(void **state)
{
    (void)state;
    struct cw_job *job = add_job();
    cw_autofree char *why = NULL;
    job->d->options.deaths_max = 3;
    assert_int_equal(say_died(job, 1, true, &why), 1);
    assert_int_equal(say_died(job, 1, true, &why), 1); /* the same once more */
    assert_int_equal(cw_item_faults_find(job, 0, 7)->dead.n, 1);
    assert_int_equal(say_died(job, 2, true, &why), 1);
    assert_null(why);
    assert_int_equal(say_died(job, 3, true, &why), CW_E_INTERNAL);
    assert_non_null(strstr(why, "operator lab.x, element 7: it died of SIGSEGV; 3 workers"));
    assert_non_null(strstr(why, "item 7 of epoch 0"));
}

static void one_that_dies_before_any_item_is_blamed_too(void **state)
{
    (void)state;
    struct cw_job *job = add_job();
    cw_autofree char *why = NULL;
    job->d->options.deaths_max = 2;
    assert_int_equal(say_died(job, 1, false, &why), 1);
    assert_string_equal(job->prepare_why,
                        "node \"n\", operator lab.x, element 7: it died of SIGSEGV");
    assert_int_equal(say_died(job, 2, false, &why), CW_E_INTERNAL);
    assert_non_null(strstr(why, "2 workers died of it, and it is not tried again"));
}

static void what_was_received_is_not_blamed(void **state)
{
    (void)state;
    struct cw_job *job = add_job();
    struct cw_set fresh = {0};
    cw_autofree char *why = NULL;
    cw_epoch_receive(cw_job_epoch(job, 0), 0, RANGE(7, 8), &fresh);
    cw_set_fini(&fresh);
    assert_int_equal(say_died(job, 1, true, &why), 0);
    assert_int_equal(job->faults_n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin, made_up_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_item_is_retried_a_few_times),  TEST(a_bad_element_is_not_retried),
        TEST(what_was_received_cannot_fail),   TEST(it_is_retried_on_another_worker),
        TEST(the_oldest_faults_are_forgotten), TEST(what_is_left_out_waits_to_be_sent),
        TEST(an_operator_is_blamed_by_name),   TEST(one_that_dies_before_any_item_is_blamed_too),
        TEST(what_was_received_is_not_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
