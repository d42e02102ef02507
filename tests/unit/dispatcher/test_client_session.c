/* SPDX-License-Identifier: Apache-2.0 */
/* Clients and their places, without streams. */
#include "dispatcher/job/job.h"
#include "dispatcher/session/session.h"
#include "unit/dispatcher/made_up.h"
#include "support/ranges.h"

/* A shared job of two consumers; both places are held, and consumer 0 owns the first ten items,
 * of which it has received five. */
static struct cw_job *begin_shared(struct cw_client holders[2])
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->mode = CACHEW__V1__CONSUMER_MODE__SHARED;
    options->consumers = 2;
    info->items = 100;
    struct cw_job *job = made_up_job("a", options, info);
    for (uint32_t c = 0; c < 2; c++) {
        holders[c] = (struct cw_client){
            .d = &made_up, .id = c + 1, .consumer = c, .admitted = true, .welcomed = true};
        cw_job_add_client(job, &holders[c]);
        job->consumers[c].client = &holders[c];
        job->consumers[c].client_id = c + 1;
    }
    struct cw_epoch *epoch = cw_job_open_epoch(job, 0);
    struct cw_set fresh = {0};
    cw_set_add(&epoch->parts[0].owned, 0, 10);
    cw_epoch_receive(epoch, 0, RANGE(0, 5), &fresh);
    cw_set_fini(&fresh);
    return job;
}

/* Somebody else who asked for the place in vain goes again: its holder keeps it, and what it
 * has. */
static void who_waits_for_a_place_gives_up_no_other(void **state)
{
    (void)state;
    struct cw_client holders[2];
    struct cw_job *job = begin_shared(holders);
    struct cw_client waits = {.d = &made_up, .id = 9, .consumer = 0, .place_wait_ms = 1000};
    cw_job_add_client(job, &waits);
    cw_client_leave(&waits);
    const struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_true(cw_set_has_range(&epoch->parts[0].owned, 0, 10));
    assert_true(cw_set_has_range(&epoch->received, 0, 5));
    assert_ptr_equal(job->consumers[0].client, &holders[0]);
    assert_false(job->consumers[0].bye);
    assert_null(waits.job);
}

static void who_leaves_gives_up_what_it_owns(void **state)
{
    (void)state;
    struct cw_client holders[2];
    struct cw_job *job = begin_shared(holders);
    cw_client_leave(&holders[0]);
    const struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_int_equal(epoch->parts[0].owned.n + epoch->received.n, 0);
    assert_null(job->consumers[0].client);
    assert_true(job->consumers[0].bye);
    assert_ptr_equal(job->consumers[1].client, &holders[1]);
    assert_false(job->consumers[1].bye);
}

static void a_place_that_becomes_free_is_noted(void **state)
{
    (void)state;
    struct cw_client holders[2];
    struct cw_job *job = begin_shared(holders);
    struct cw_client waits = {.d = &made_up, .id = 9, .consumer = 0, .place_wait_ms = 1000},
                     other = {.d = &made_up, .id = 10, .consumer = 1, .place_wait_ms = 1000};
    cw_job_add_client(job, &other);
    cw_job_add_client(job, &waits);
    cw_client_leave(&holders[0]);
    assert_true(waits.due.admission);
    assert_int_equal(waits.place_wait_ms, 0); /* from now on it waits for somebody else */
    assert_false(other.due.admission);
    assert_int_equal(other.place_wait_ms, 1000);
}

/* A job that fails ends no stream: its clients are told at the end of the iteration. */
static void a_job_fails_before_its_clients_do(void **state)
{
    (void)state;
    struct cw_client holders[2];
    struct cw_job *job = begin_shared(holders);
    cw_job_fail(job, CW_E_IO, "the file is gone");
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_true(made_up.due.failed_jobs);
    assert_false(holders[0].failed);
    assert_ptr_equal(job->consumers[0].client, &holders[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin, made_up_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_waits_for_a_place_gives_up_no_other),
        TEST(who_leaves_gives_up_what_it_owns),
        TEST(a_place_that_becomes_free_is_noted),
        TEST(a_job_fails_before_its_clients_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
