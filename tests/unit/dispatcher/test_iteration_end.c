/* SPDX-License-Identifier: Apache-2.0 */
/* What may happen only when it is stored, with a real state directory; and whose time it was
 * that passed. */
#include <stdio.h>
#include <string.h>
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"
#include "unit/dispatcher/made_up.h"
#include "support/ranges.h"

#define CONSUMERS 5

static void store_all(void)
{
    struct cw_err err = {0};
    if (cw_state_commit(made_up.state, &err) != 0)
        fail_msg("%s", err.msg);
}

static struct cw_job *shared_job(void)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->mode = CACHEW__V1__CONSUMER_MODE__SHARED;
    options->consumers = CONSUMERS;
    options->window = 1000;
    info->items = 1000;
    info->item_bytes = -1;
    struct cw_job *job = made_up_job("j", options, info);
    static struct cw_client clients[CONSUMERS];
    for (uint32_t c = 0; c < CONSUMERS; c++)
        job->consumers[c].client = &clients[c];
    cw_job_store(job);
    store_all();
    return job;
}

static void no_client(struct cw_job *job)
{
    for (uint32_t c = 0; c < CONSUMERS; c++)
        job->consumers[c].client = NULL;
}

static size_t leases_n(const struct cw_job *job, bool sent)
{
    size_t n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
            n += (lease->after_seq == 0) == sent;
    return n;
}

/* A filling gives many pieces. All of them are stored together, a row for each consumer, and
 * sent when they are. */
static void shared_leases_wait_until_they_are_stored(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 4; id++)
        made_up_worker(id, 4);
    struct cw_job *job = shared_job();
    cw_lease_fill_all(&made_up);
    assert_true(leases_n(job, false) > 4);
    assert_int_equal(leases_n(job, true), 0);
    assert_int_equal(cw_state_waiting_n(made_up.state), CONSUMERS + 1);
    cw_lease_send_stored(&made_up);
    assert_int_equal(leases_n(job, true), 0);
    store_all();
    cw_lease_send_stored(&made_up);
    assert_true(leases_n(job, true) > 4);
    assert_int_equal(leases_n(job, false), 0);
    no_client(job);
}

/* A worker that dies before its lease was sent has not died of it. */
static void what_was_not_sent_kills_nobody(void **state)
{
    (void)state;
    made_up_worker(1, 4);
    struct cw_job *job = shared_job();
    cw_lease_fill_all(&made_up);
    cw_job_blame_items(job->shares);
    assert_int_equal(job->faults_n, 0);
    store_all();
    cw_lease_send_stored(&made_up);
    cw_job_blame_items(job->shares);
    assert_true(job->faults_n > 0);
    no_client(job);
}

static int count_job(void *arg, const struct cw_state_job *row, struct cw_err *err)
{
    (void)row, (void)err;
    ++*(int *)arg;
    return 0;
}
static int no_job(void *arg, const struct cw_state_job *row, struct cw_err *err)
{
    (void)arg, (void)row, (void)err;
    return 0;
}
static int no_progress(void *arg, const char *id, uint64_t epoch, int consumer,
                       const struct cw_set *items, struct cw_err *err)
{
    (void)arg, (void)id, (void)epoch, (void)consumer, (void)items, (void)err;
    return 0;
}

static int stored_jobs(void)
{
    const struct cw_state_reader reader = {.job = count_job, .progress = no_progress};
    int n = 0;
    struct cw_err err = {0};
    if (cw_state_load(made_up.state, &reader, &n, &err) != 0)
        fail_msg("%s", err.msg);
    return n;
}

/* Written, and removed before that was stored: its row must not stay. */
static void a_job_of_one_turn_leaves_no_row(void **state)
{
    (void)state;
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    info->items = 10;
    struct cw_job *job = made_up_job("j", cachew__v1__job_options__unpack(NULL, 0, NULL), info);
    job->stored = false;
    cw_job_store(job);
    cw_job_remove(job, "its client is gone");
    store_all();
    assert_int_equal(stored_jobs(), 0);
}

static int count_skipped(void *arg, const char *id, uint64_t epoch, const struct cw_set *items,
                         struct cw_err *err)
{
    (void)id, (void)epoch, (void)err;
    *(uint64_t *)arg += cw_set_count(items);
    return 0;
}

static int no_position(void *arg, const char *id, uint32_t consumer, uint64_t client_id,
                       const struct cw_state_position *position, struct cw_err *err)
{
    (void)arg, (void)id, (void)consumer, (void)client_id, (void)position, (void)err;
    return 0;
}

static uint64_t stored_skipped(void)
{
    const struct cw_state_reader reader = {
        .job = no_job, .progress = no_progress, .skipped = count_skipped, .position = no_position};
    uint64_t n = 0;
    struct cw_err err = {0};
    if (cw_state_load(made_up.state, &reader, &n, &err) != 0)
        fail_msg("%s", err.msg);
    return n;
}

static void store_job(struct cw_job *job)
{
    cw_job_flush(job);
    store_all();
}

/* One of two goes back by a token to an epoch that has just ended, before that was stored. */
static void an_epoch_that_is_opened_again_has_no_old_rows(void **state)
{
    (void)state;
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->mode = CACHEW__V1__CONSUMER_MODE__COORDINATED;
    options->consumers = 2;
    info->items = 10;
    struct cw_job *job = made_up_job("j", options, info);
    job->consumers[0].client_id = job->consumers[1].client_id = 7;
    cw_job_store(job);
    cw_job_skip(job, 0, RANGE(4, 6), "lost");
    store_job(job);
    assert_int_equal(stored_skipped(), 2);
    cw_job_skip(job, 0, RANGE(0, 10), "lost");
    job->consumers[0].position.epoch = job->consumers[1].position.epoch =
        1; /* they have counted it */
    cw_job_advance(job);
    assert_int_equal(job->first_epoch, 1);
    cw_job_resume_at(job, 1, &(struct cw_token){.epoch = 0, .item = 4});
    store_job(job);
    assert_int_equal(cw_job_epoch(job, 0)->skipped.n, 0);
    assert_int_equal(stored_skipped(), 0);
}

/* A client of a job without items says that it has some. */
static void an_empty_job_has_no_rows_of_progress(void **state)
{
    (void)state;
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->epochs = 2;
    struct cw_job *job = made_up_job("j", options, info);
    struct cw_set fresh = {0};
    cw_job_store(job);
    cw_epoch_consume(cw_job_open_epoch(job, 0), 0, RANGE(0, 4), &fresh);
    cw_set_fini(&fresh);
    cw_job_epoch(job, 0)->dirty = job->due.progress = true;
    cw_job_advance(job);
    assert_int_equal(job->first_epoch, 2);
    assert_int_equal(job->epochs_open, 0);
    assert_int_equal(job->status, CW_JOB_FINISHED);
}

static void on_stored(void *arg, const struct cw_err *err)
{
    *(int *)arg = err ? -1 : 1;
}

/* Nobody who waits is forgotten, and nobody is told before it is true. */
static void who_waits_is_told_when_it_is_stored(void **state)
{
    (void)state;
    int first = 0, second = 0, third = 0;
    cw_when_stored(&made_up, on_stored, &first);
    assert_int_equal(first, 1); /* there was nothing to wait for */
    cw_state_put_worker(made_up.state, 1, "x");
    cw_when_stored(&made_up, on_stored, &second);
    cw_state_put_worker(made_up.state, 2, "y");
    cw_when_stored(&made_up, on_stored, &third);
    assert_true(second == 0 && third == 0);
    cw_iteration_commit_last(&made_up);
    assert_true(second == 1 && third == 1);
}

static void the_dispatchers_own_time_is_nobodys_silence(void **state)
{
    (void)state;
    static const struct {
        int64_t passed, period, lost;
    } rows[] = {{250, 250, 0},   {0, 250, 0},       {260, 250, 0},    {500, 250, 0},
                {501, 250, 251}, {5250, 250, 5000}, {5050, 50, 5000}, {100, 50, 0}};
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        assert_int_equal(cw_tick_stall_ms(rows[i].passed, rows[i].period), rows[i].lost);
}

/* ---- what people read of a job ---- */

static struct cw_job *cached_job(void)
{
    static char op[] = "range", name[] = "numbers";
    Cachew__V1__PlanInfo from = CACHEW__V1__PLAN_INFO__INIT;
    Cachew__V1__Cacheable node = CACHEW__V1__CACHEABLE__INIT, *list[] = {&node};
    uint8_t bytes[256];
    node.node = name;
    node.op = op;
    from.items = 100;
    from.cacheable = list;
    from.n_cacheable = 1;
    size_t n = cachew__v1__plan_info__pack(&from, bytes);
    struct cw_job *job = made_up_job("j1", cachew__v1__job_options__unpack(NULL, 0, NULL),
                                     cachew__v1__plan_info__unpack(NULL, n, bytes));
    cw_mem_free(job->name);
    job->name = cw_mem_strdup("cached"); /* as one that is kept */
    job->no_client_ms = 1;
    cw_job_store(job);
    store_all();
    return job;
}

static void hear_hits(struct cw_worker *worker, uint64_t hits)
{
    static char id[] = "j1", node[] = "numbers";
    Cachew__V1__NodeCounts counts = CACHEW__V1__NODE_COUNTS__INIT, *list[] = {&counts};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    counts.job_id = id;
    counts.node = node;
    counts.hits = hits;
    progress.counts = list;
    progress.n_counts = 1;
    cw_telemetry_take_counts(worker, &progress);
}

static int read_counts(void *arg, const char *id, const uint64_t *counts, size_t n,
                       struct cw_err *err)
{
    (void)id, (void)err;
    cw_telemetry_restore(arg, counts, n);
    return 0;
}

/* As the next dispatcher would count. */
static uint64_t stored_hits(struct cw_job *job)
{
    static const struct cw_state_reader reader = {.job = no_job, .counts = read_counts};
    struct cw_err err = {0};
    cw_telemetry_free(job);
    if (cw_state_load(made_up.state, &reader, job, &err) != 0)
        fail_msg("%s", err.msg);
    const struct cw_node_sums *m = cw_telemetry_most_hits(job);
    return m ? (uint64_t)m->hits : 0;
}

/* Workers tell of hits after the items that they were of: nothing else of the job may change any
 * more. */
static void counts_are_stored_by_themselves(void **state)
{
    (void)state;
    assert_int_equal(cw_provision_find("none", &made_up.provision.kind, NULL), 0);
    struct cw_worker *worker = made_up_worker(1, 1);
    struct cw_job *job = cached_job();
    int64_t now = 1000000;
    job->usage.elements = 100;
    cw_job_store_usage(job, now, true);
    store_all();
    assert_false(cw_job_usage_is_due(job, now + 3600000));
    /* a dispatcher that stops stores what it was told last */
    hear_hits(worker, 70);
    cw_job_store_usage(job, now + 1, true);
    store_all();
    assert_int_equal(stored_hits(job), 70);
    worker->counted_before = true;
    hear_hits(worker, 70);
    /* what was read back, and is told again, is stored */
    assert_false(cw_job_usage_is_due(job, now + 3600000));
    /* and one that does not stop stores it some seconds later */
    hear_hits(worker, 90);
    assert_false(cw_job_usage_is_due(job, now + 9000));
    assert_true(cw_job_usage_is_due(job, now + 11000));
    cw_job_store_usage(job, now + 11000, false);
    assert_false(cw_job_usage_is_due(job, now + 3600000));
    store_all();
    assert_int_equal(stored_hits(job), 90);
}

/* Nobody is there any more, and something is still to be stored: the clock goes on until it is. */
static void what_is_to_be_stored_keeps_the_clock(void **state)
{
    (void)state;
    assert_int_equal(cw_provision_find("none", &made_up.provision.kind, NULL), 0);
    struct cw_worker *worker = made_up_worker(1, 1);
    struct cw_job *job = cached_job();
    job->status = CW_JOB_FINISHED;
    hear_hits(worker, 70);
    cw_worker_sessions_close(&made_up);
    made_up.workers_n = 0;
    cw_tick_update(&made_up);
    assert_true(made_up.tick_ms > 0);
    cw_job_store_usage(job, cw_clock_ms(), true);
    cw_tick_update(&made_up);
    assert_int_equal(made_up.tick_ms, 0);
}

/* A job goes on with the workers that were decided on last, in whatever words. */
static void as_many_workers_as_before(void **state)
{
    (void)state;
    assert_int_equal(cw_provision_find("none", &made_up.provision.kind, NULL), 0);
    made_up.options.autoscale = made_up.options.autoplace = "auto";
    made_up.options.provisioner = made_up.provision.kind;
    struct cw_job *job = cached_job();
    assert_true(job->scaling && job->scaling->target == 1);
    struct cw_state_decision row = {.job = job->id,
                                    .name = "",
                                    .kind = "autoplace",
                                    .policy = "auto",
                                    .choice = "9 workers",
                                    .reason = "",
                                    .remote = 2,
                                    .local = 1};
    cw_state_put_decision(made_up.state, &row, 10, 10);
    row.kind = "autoscale";
    row.choice = "three of them";
    row.remote = 3;
    row.local = 0;
    cw_state_put_decision(made_up.state, &row, 10, 10);
    store_all();
    cw_scaling_restore(job);
    assert_true(job->scaling->target == 3 && job->scaling->local_target == 0 &&
                job->scaling->state.remote == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_leases_wait_until_they_are_stored,
                                        made_up_begin_stored, made_up_end_stored),
        cmocka_unit_test_setup_teardown(what_was_not_sent_kills_nobody, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(a_job_of_one_turn_leaves_no_row, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(an_epoch_that_is_opened_again_has_no_old_rows,
                                        made_up_begin_stored, made_up_end_stored),
        cmocka_unit_test_setup_teardown(an_empty_job_has_no_rows_of_progress, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(who_waits_is_told_when_it_is_stored, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(the_dispatchers_own_time_is_nobodys_silence,
                                        made_up_begin_stored, made_up_end_stored),
        cmocka_unit_test_setup_teardown(counts_are_stored_by_themselves, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(what_is_to_be_stored_keeps_the_clock, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(as_many_workers_as_before, made_up_begin_stored,
                                        made_up_end_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
