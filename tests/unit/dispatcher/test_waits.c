/* SPDX-License-Identifier: Apache-2.0 */
/* What the dispatcher knows of why a trainer waits: each reason once, and what none of them
 * explains. */
#include "dispatcher/job/job.h"
#include "dispatcher/job/waits_for.h"
#include "dispatcher/lease/lease.h"
#include "unit/dispatcher/made_up.h"

#include <string.h>

#define KIND(word) CACHEW__V1__WAIT_KIND__WAIT_##word

static struct cw_client clients[2];

/* A job of so many coordinated consumers, of which the first is there and has waited for five
 * seconds. */
static struct cw_job *add_job(uint32_t consumers)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 1;
    options->window = 4;
    options->mode =
        consumers > 1 ? CACHEW__V1__CONSUMER_MODE__COORDINATED : CACHEW__V1__CONSUMER_MODE__SINGLE;
    options->consumers = consumers;
    info->items = 100;
    info->item_bytes = -1;
    struct cw_job *job = made_up_job("a", options, info);
    clients[0] = (struct cw_client){.job = job, .admitted = true, .welcomed = true};
    job->clients = &clients[0];
    job->consumers[0].client = &clients[0];
    job->consumers[0].moved_ms = cw_clock_ms() - 5000;
    return job;
}

static void expect(struct cw_job *job, Cachew__V1__WaitKind kind, const char *text)
{
    struct cw_job_waits waits;
    bool found = cw_job_waits(job, cw_clock_ms(), &waits);
    assert_int_equal(found, kind != KIND(NOTHING));
    assert_int_equal(waits.kind, kind);
    if (!strstr(cw_str_text(&waits.text), text))
        fail_msg("\"%s\" is not in \"%s\"", text, cw_str_text(&waits.text));
    cw_job_waits_fini(&waits);
}

static int end(void **state)
{
    for (struct cw_job *job = made_up.jobs; job; job = job->next) {
        job->clients = NULL;
        job->consumers[0].client = NULL;
    }
    return made_up_end(state);
}

static void test_nothing(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    made_up_worker(1, 2);
    cw_lease_fill_all(&made_up);
    job->consumers[0].ready = 1;
    expect(job, KIND(NOTHING), "");
    job->consumers[0].ready = 0;
    job->consumers[0].moved_ms = cw_clock_ms(); /* it has waited for a moment only */
    expect(job, KIND(NOTHING), "");
}

static void test_no_worker(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    job->no_worker_ms = cw_clock_ms() - 5000;
    expect(job, KIND(NO_WORKER), "no worker is connected");
}

static void test_preparing(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    struct cw_worker *worker = made_up_worker(1, 2);
    char id[] = "a", at[] = "/data/train/00017.tfrecord";
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    Cachew__V1__Progress__Preparing preparing = CACHEW__V1__PROGRESS__PREPARING__INIT;
    Cachew__V1__Progress__Preparing *list[] = {&preparing};
    clients[0].welcomed = clients[0].admitted = false;
    job->status = CW_JOB_PREPARING;
    job->no_worker_ms = cw_clock_ms() - 9000;
    cw_job_set_preparing(job, worker);
    preparing.job_id = id;
    preparing.at = at;
    progress.preparing = list;
    progress.n_preparing = 1;
    cw_job_note_preparing(worker, &progress, cw_clock_ms() - 7000);
    expect(job, KIND(PREPARING), "at /data/train/00017.tfrecord, without progress for 7 s");
    cw_job_set_preparing(job, NULL);
}

static void test_dispatcher(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    made_up_worker(1, 2);
    job->hold_until_ms = cw_clock_ms() + 10000;
    expect(job, KIND(DISPATCHER), "the dispatcher was started again");
    job->hold_until_ms = 0;
    job->stored = false;
    expect(job, KIND(DISPATCHER), "the dispatcher cannot store the job yet");
}

static void test_computing(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    struct cw_worker *worker = made_up_worker(1, 2);
    char id[] = "a", at[] = "/data/big.idx";
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    Cachew__V1__Progress__Slow slow = CACHEW__V1__PROGRESS__SLOW__INIT;
    Cachew__V1__Progress__Slow *list[] = {&slow};
    cw_lease_fill_all(&made_up);
    worker->last_heard_ms = cw_clock_ms();
    expect(job, KIND(COMPUTING), "item 0 of epoch 0 is at worker");
    slow.job_id = id;
    slow.ms = 12000;
    progress.slow = list;
    progress.n_slow = 1;
    cw_job_note_slow(worker, &progress, cw_clock_ms());
    expect(job, KIND(COMPUTING), ", which has computed it for 12 s");
    slow.at = at;
    cw_job_note_slow(worker, &progress, cw_clock_ms());
    expect(job, KIND(COMPUTING), ", which opens the sources of the job, and is at /data/big.idx");
    worker->last_heard_ms = cw_clock_ms() - 2500;
    expect(job, KIND(COMPUTING), "and has said nothing for 2 s");
}

static void receive(struct cw_job *job, uint32_t consumer, uint64_t hi, bool consumed)
{
    made_up_ack(job, consumer, 0, 0, hi, consumed);
}

static void test_another_consumer(void **state)
{
    (void)state;
    struct cw_job *job = add_job(2);
    made_up_worker(1, 2);
    cw_lease_fill_all(&made_up);
    receive(job, 0, 4, true);
    receive(job, 1, 4, false);
    cw_lease_fill_all(&made_up);
    receive(job, 0, 5, false);
    expect(job, KIND(CONSUMER), "consumer 1 of 2 is not there, and never was");
    job->consumers[1].client_id = 7;
    job->consumers[1].client = &clients[1];
    job->consumers[1].ready = 2;
    expect(job, KIND(CONSUMER), "consumer 1 of 2 does not take the 2 batches that it has");
    job->consumers[1].client = NULL;
}

static void test_unreachable(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    struct cw_share *share = cw_share_get(job, made_up_worker(1, 2));
    cw_unreachable_add(share, 0, "no such host", cw_clock_ms());
    expect(job, KIND(WORKER), "cannot be reached by consumer 0: no such host");
}

/* An item could be leased, and none is: after 30 s that is counted, once. */
static void test_what_nothing_explains(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    (void)cw_share_get(job, made_up_worker(1, 2)); /* and nobody fills it */
    job->window = 4;                               /* as a fill sets it */
    expect(job, KIND(UNKNOWN), "item 0 of epoch 0 could be computed");
    int64_t now = cw_clock_ms();
    cw_job_look_for_mistake(job, now);
    cw_job_look_for_mistake(job, now + 29000);
    assert_int_equal(made_up.counts.unexplained_waits, 0);
    cw_job_look_for_mistake(job, now + 30000);
    cw_job_look_for_mistake(job, now + 99000);
    assert_int_equal(made_up.counts.unexplained_waits, 1);
    cw_lease_fill_all(&made_up);
    cw_job_look_for_mistake(job, now + 100000);
    assert_int_equal(job->mistake_ms, 0);
}

/* An item that failed on one worker is not kept for another one that nobody reaches. */
static void test_failed_and_unreachable(void **state)
{
    (void)state;
    struct cw_job *job = add_job(1);
    struct cw_worker *one = made_up_worker(1, 2), *two = made_up_worker(2, 2);
    char error[] = "no memory", *why = NULL;
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    failed.error = error;
    failed.code = CW_E_NOMEM;
    (void)cw_job_open_epoch(job, 0);
    (void)cw_share_get(job, one);
    assert_int_equal(cw_item_faults_failed(job, one, &failed, &why), 1);
    cw_unreachable_add(cw_share_get(job, two), 0, "no such host", cw_clock_ms());
    cw_lease_fill_all(&made_up);
    assert_non_null(cw_share_find(job, one)->leases);
    assert_true(cw_set_has(&cw_job_epoch(job, 0)->leased, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, made_up_begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing),
        TEST(test_no_worker),
        TEST(test_preparing),
        TEST(test_dispatcher),
        TEST(test_computing),
        TEST(test_another_consumer),
        TEST(test_unreachable),
        TEST(test_what_nothing_explains),
        TEST(test_failed_and_unreachable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
