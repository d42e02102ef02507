/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job: it waits, is prepared, runs, finishes, fails, is restored, and is over when
 * nobody uses it. Time is given. */
#include <stdio.h>
#include <string.h>

#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/session/session.h"
#include "unit/dispatcher/peers.h"

#define TO_CLIENT(kind) CACHEW__V1__CLIENT_COMMAND__KIND_##kind

static char name_a[] = "a";

static struct cw_stream *begin(uint64_t id, char *name)
{
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    static char none[] = "";
    options.name = name ? name : none;
    options.epochs = 2;
    return peers_trainer(id, &options);
}

/* What the trainer was told last that it waits for; NULL: nothing. */
static const Cachew__V1__Waiting *waiting(struct cw_stream *trainer, struct cw_job *job,
                                          int64_t now)
{
    peers_forget(trainer);
    cw_job_tick(job, now);
    const Cachew__V1__ClientCommand *told = peers_to_client(trainer, TO_CLIENT(WAITING));
    return told ? told->waiting : NULL;
}

/* ---- it waits ---- */
static void what_it_waits_for_is_told(void **state)
{
    (void)state;
    struct cw_stream *trainer = begin(100, name_a);
    struct cw_job *job = made_up.jobs;
    int64_t t = cw_clock_ms();
    assert_null(waiting(trainer, job, t)); /* not at once */
    const Cachew__V1__Waiting *told = waiting(trainer, job, t + 1000);
    assert_non_null(told);
    assert_true(told->stuck);
    assert_non_null(strstr(told->reason, "no worker is connected"));
    assert_null(waiting(trainer, job, t + 1500)); /* once a second */
    struct cw_stream *worker = peers_worker(1, 2);
    assert_int_equal(job->no_worker_ms, 0);
    assert_null(waiting(trainer, job, t + 2000));
    told = waiting(trainer, job, t + 3000);
    assert_non_null(told);
    assert_false(told->stuck);
    assert_non_null(strstr(told->reason, "a worker prepares the job"));
    assert_int_equal(told->still_ms, 0); /* an older worker does not tell */
    Cachew__V1__Progress__Preparing step = CACHEW__V1__PROGRESS__PREPARING__INIT,
                                    *steps[] = {&step};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    step.job_id = job->id;
    step.steps = 5;
    progress.n_preparing = 1, progress.preparing = steps;
    cw_job_note_preparing(peers_worker_of(1), &progress, t + 3000);
    cw_job_note_preparing(peers_worker_of(1), &progress, t + 3500); /* it did not come on */
    told = waiting(trainer, job, t + 5000);
    assert_int_equal(told->still_ms, 2000);
    step.steps = 6;
    cw_job_note_preparing(peers_worker_of(1), &progress, t + 6000);
    told = waiting(trainer, job, t + 7000);
    assert_int_equal(told->still_ms, 1000);
    peers_prepared(worker, 10);
    assert_null(waiting(trainer, job, t + 7100)); /* until it is stored */
    peers_turn();
    told = waiting(trainer, job, t + 9000); /* the worker computes, and nothing has come */
    assert_non_null(told);
    assert_int_equal(told->kind, CACHEW__V1__WAIT_KIND__WAIT_COMPUTING);
    assert_int_equal(told->worker_id, 1);
    assert_non_null(strstr(told->reason, "item 0 of epoch 0 is at worker"));
    job->consumers[0].ready = 1; /* something has come */
    told = waiting(trainer, job, t + 10000);
    assert_non_null(told);
    assert_int_equal(told->kind, CACHEW__V1__WAIT_KIND__WAIT_NOTHING);
    assert_string_equal(told->reason, "");
    assert_null(waiting(trainer, job, t + 12000));
    job->consumers[0].ready = 0;
    assert_non_null(peers_worker_of(1));
    peers_break(worker, CW_E_UNAVAILABLE, "gone");
    (void)waiting(trainer, job, t + 20000);
    told = waiting(trainer, job, t + 21000);
    assert_non_null(told);
    assert_true(told->stuck);
}

static void a_disk_that_fails_is_told(void **state)
{
    (void)state;
    struct cw_stream *trainer = begin(100, name_a);
    struct cw_job *job = made_up.jobs;
    peers_prepared(peers_worker(1, 2), 10);
    made_up.unwritten = true;
    snprintf(made_up.unwritten_why, sizeof(made_up.unwritten_why), "the disk is full");
    int64_t t = cw_clock_ms();
    (void)waiting(trainer, job, t);
    const Cachew__V1__Waiting *told = waiting(trainer, job, t + 2000);
    assert_non_null(told);
    assert_true(told->stuck);
    assert_non_null(strstr(told->reason, "and tries again: the disk is full"));
}

/* ---- it cannot begin ---- */
static void what_a_preparation_says_fails_the_job(void **state)
{
    (void)state;
    static const struct {
        int code, fails_with;
        const char *error;
    } cases[] = {{CW_E_NOT_FOUND, CW_E_NOT_FOUND, "no file matches"},
                 {5, CW_E_INTERNAL, "of another version"}};
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_stream *trainer = begin(100 + i, NULL), *worker = peers_worker(1 + i, 2);
        peers_not_prepared(worker, cases[i].code, cases[i].error);
        peers_turn();
        assert_int_equal(peers_end_code(trainer), cases[i].fails_with);
        assert_non_null(strstr(peers_end_msg(trainer), cases[i].error));
        /* it was never stored: nobody needs to know of it any more */
        assert_string_equal(cw_job_is_over(made_up.jobs, cw_clock_ms()), "it could not be started");
        cw_clients_end_job(made_up.jobs, "over");
        peers_break(worker, 0, "");
    }
}

static void set_version(uint64_t id, const char *version)
{
    struct cw_worker *worker = peers_worker_of(id);
    cw_mem_free(worker->version);
    worker->version = cw_mem_strdup(version);
}

/* A fleet that is being upgraded: workers 1 and 2 are of the version before, and do not know the operator.
 * Worker 3 does, is asked next, and alone gets the job. */
static void a_worker_of_another_version_is_asked(void **state)
{
    (void)state;
    struct cw_stream *before = peers_worker(1, 2);
    set_version(1, "0.0.9");
    struct cw_stream *trainer = begin(100, name_a), *new = NULL;
    (void)peers_worker(2, 2);
    set_version(2, "0.0.9");
    new = peers_worker(3, 2);
    const struct cw_job *job = made_up.jobs;
    assert_ptr_equal(job->preparing, peers_worker_of(1));
    peers_not_prepared(before, CW_E_NOT_FOUND, "there is no such operator");
    assert_ptr_equal(job->preparing, peers_worker_of(3));
    peers_prepared(new, 10);
    peers_turn();
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_false(peers_is_ended(trainer));
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(cw_worker_has_operators(peers_worker_of(id), job, NULL), id == 3);
    CW_STR_AUTO text = {0};
    assert_true(cw_operators_lacking(job, &text));
    assert_non_null(strstr(cw_str_text(&text), "what its version 0.0.9 could not find"));
}

/* If those of all versions say so, it fails. */
static void all_versions_are_asked_once(void **state)
{
    (void)state;
    struct cw_stream *before = peers_worker(1, 2);
    set_version(1, "0.0.9");
    struct cw_stream *trainer = begin(100, name_a), *new = peers_worker(2, 2);
    peers_not_prepared(before, CW_E_NOT_FOUND, "there is no such operator");
    assert_false(peers_is_ended(trainer));
    peers_not_prepared(new, CW_E_NOT_FOUND, "a: there is no such operator");
    peers_turn();
    assert_int_equal(peers_end_code(trainer), CW_E_NOT_FOUND);
    assert_non_null(strstr(peers_end_msg(trainer), "a: there is no such operator"));
}

/* A file that a worker does not find says nothing of its version. */
static void a_missing_file_fails_at_once(void **state)
{
    (void)state;
    struct cw_stream *before = peers_worker(1, 2);
    set_version(1, "0.0.9");
    struct cw_stream *trainer = begin(100, name_a);
    (void)peers_worker(2, 2);
    peers_not_prepared(before, CW_E_NOT_FOUND, "no file matches");
    peers_turn();
    assert_int_equal(peers_end_code(trainer), CW_E_NOT_FOUND);
    assert_non_null(strstr(peers_end_msg(trainer), "no file matches"));
}

static void nothing_for_ever_is_refused(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT; /* epochs without end */
    struct cw_stream *trainer = peers_trainer(100, &options);
    peers_prepared(peers_worker(1, 2), 0);
    peers_turn();
    assert_int_equal(peers_end_code(trainer), CW_E_INVALID);
    assert_non_null(strstr(peers_end_msg(trainer), "the pipeline has no elements"));
}

static void nothing_twice_is_finished_at_once(void **state)
{
    (void)state;
    struct cw_stream *trainer = begin(100, name_a);
    peers_prepared(peers_worker(1, 2), 0);
    peers_turn();
    assert_int_equal(made_up.jobs->status, CW_JOB_FINISHED);
    assert_non_null(peers_to_client(trainer, TO_CLIENT(WELCOME)));
}

static void the_least_busy_worker_prepares(void **state)
{
    (void)state;
    (void)peers_worker(1, 2);
    (void)peers_worker(2, 2);
    (void)begin(100, NULL);
    (void)begin(101, NULL);
    const struct cw_job *one = made_up.jobs, *two = one->next;
    assert_non_null(one->preparing);
    assert_non_null(two->preparing);
    assert_ptr_not_equal(one->preparing, two->preparing);
    /* one that is gone is replaced */
    peers_break(one->preparing->stream, 0, "closed");
    assert_null(one->preparing);
    cw_job_tick(made_up.jobs, cw_clock_ms());
    assert_ptr_equal(one->preparing, two->preparing);
}

/* ---- it runs, and finishes ---- */
static void it_finishes_and_begins_again(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    peers_ack(trainer, 0, 10, 10);
    assert_int_equal(job->first_epoch, 1);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    peers_ack(trainer, 1, 10, 4);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    peers_ack(trainer, 1, 10, 10);
    assert_int_equal(job->status, CW_JOB_FINISHED);
    assert_int_equal(job->first_epoch, 2);
    peers_turn();
    assert_null(cw_share_find(job, peers_worker_of(1))->leases);
    /* resumed in the middle of the last epoch */
    const struct cw_token token = {.epoch = 1, .item = 6, .consumers = 1};
    cw_job_resume_at(job, 0, &token);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_int_equal(job->first_epoch, 1);
    const struct cw_epoch *epoch = cw_job_epoch(job, 1);
    assert_true(cw_set_has_range(&epoch->consumed, 0, 6) && cw_set_count(&epoch->consumed) == 6);
}

static void what_a_trainer_did_not_consume_comes_again(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    peers_ack(trainer, 0, 4, 2);
    peers_break(trainer, CW_E_UNAVAILABLE, "gone");
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = name_a;
    options.epochs = 2;
    struct cw_stream *next = peers_trainer(101, &options); /* another process, without a token */
    peers_turn();
    const Cachew__V1__ClientCommand *told = peers_to_client(next, TO_CLIENT(WELCOME));
    assert_non_null(told);
    assert_true(told->welcome->first_epoch == 0 && told->welcome->first_item == 2);
    const struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_true(cw_set_count(&epoch->received) == 2);
}

/* ---- it is over ---- */
static void a_job_is_over_when_nobody_uses_it(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    int64_t t = cw_clock_ms();
    assert_null(cw_job_is_over(job, t + 1000000)); /* it is used */
    peers_break(trainer, CW_E_UNAVAILABLE, "gone");
    t = job->no_client_ms;
    assert_null(cw_job_is_over(job, t + 59999));
    assert_string_equal(cw_job_is_over(job, t + 60000), "nobody used it (--job-idle)");
    cw_clients_end_job(job, "over");
    trainer = begin(100, NULL);
    job = made_up.jobs;
    peers_break(trainer, CW_E_UNAVAILABLE, "gone");
    t = job->no_client_ms;
    assert_null(cw_job_is_over(job, t + 9999));
    assert_string_equal(cw_job_is_over(job, t + 10000), "its client is gone");
}

static void a_nameless_job_ends_with_its_trainer(void **state)
{
    (void)state;
    peers_bye(begin(100, NULL));
    assert_null(made_up.jobs);
    struct cw_stream *trainer;
    (void)peers_running("a", &trainer);
    peers_bye(trainer);
    assert_true(peers_is_ended(trainer) && peers_end_code(trainer) == 0);
    assert_non_null(made_up.jobs);
    assert_true(made_up.jobs->consumers[0].bye);
}

static void a_place_in_a_shared_job_is_given_up(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    options.name = name_a;
    options.epochs = 2;
    options.mode = CACHEW__V1__CONSUMER_MODE__SHARED;
    options.consumers = 1;
    struct cw_stream *trainer = peers_trainer(100, &options);
    peers_prepared(peers_worker(1, 2), 10);
    peers_turn();
    peers_turn();
    struct cw_job *job = made_up.jobs;
    struct cw_epoch *epoch = cw_job_epoch(job, 0);
    assert_true(epoch->parts[0].owned.n > 0);
    peers_break(trainer, CW_E_UNAVAILABLE, "gone");
    int64_t gone = job->consumers[0].gone_ms;
    cw_job_tick(job, gone + 9999);
    assert_int_equal(job->consumers[0].client_id, 100);
    assert_true(epoch->parts[0].owned.n > 0);
    cw_job_tick(job, gone + 10000);
    assert_int_equal(job->consumers[0].client_id, 0);
    assert_int_equal(epoch->parts[0].owned.n, 0);
}

/* ---- the next dispatcher ---- */
static void a_restarted_job_goes_on(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    cw_autofree char *id = cw_mem_strdup(job->id);
    peers_ack(trainer, 0, 10, 10);
    peers_ack(trainer, 1, 5, 3);
    (void)cw_job_skip_on_request(job, 1, 8, 9);
    job->usage.elements = 42;
    cw_job_store_usage(job, cw_clock_ms() + 20000, true);
    cw_job_flush(job);
    peers_turn();
    peers_restart();
    job = made_up.jobs;
    assert_non_null(job);
    assert_string_equal(job->id, id);
    assert_string_equal(job->name, "a");
    assert_true(job->status == CW_JOB_RUNNING && job->first_epoch == 1 && job->items == 10);
    const struct cw_epoch *epoch = cw_job_epoch(job, 1);
    assert_true(cw_set_has_range(&epoch->consumed, 0, 3) && cw_set_has(&epoch->skipped, 8));
    assert_int_equal(job->usage.elements, 42);
    assert_true(job->consumers[0].expected && job->consumers[0].client_id == 100);
    assert_int_equal(made_up.expected_workers.n, 1);
    assert_true(job->hold_until_ms > 0);
    /* its trainer and its worker are back */
    struct cw_stream *worker = peers_worker(1, 2);
    assert_true(peers_worker_of(1)->counted_before);
    assert_int_equal(made_up.expected_workers.n, 0);
    peers_turn();
    assert_null(peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_LEASE));
    trainer = peers_back(100, id);
    peers_turn();
    const Cachew__V1__ClientCommand *told = peers_to_client(trainer, TO_CLIENT(WELCOME));
    assert_non_null(told);
    assert_int_equal(told->welcome->first_item, 3);
    assert_int_equal(job->hold_until_ms, 0);
    assert_non_null(peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_LEASE));
}

static void a_row_that_cannot_be_read_fails_its_job_alone(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    cw_autofree char *id = cw_mem_strdup(job->id);
    static const char junk[] = "\xff\xff\xff";
    const struct cw_state_blob bad = {junk, 3}, none = {"", 0};
    struct cw_buf *graph = cw_buf_ref(job->graph_packed);
    Cachew__V1__JobOptions many = CACHEW__V1__JOB_OPTIONS__INIT;
    many.consumers = CW_CONSUMERS_MAX + 1;
    struct cw_buf *too_many = cw_wire_pack(&many.base);
    const struct {
        const char *id;
        struct cw_state_blob options, graph, info;
        const char *says;
    } rows[] = {
        {"b", bad, {graph->data, graph->len}, none, "its options cannot be read"},
        {"c", {too_many->data, too_many->len}, none, none, "its options cannot be read"},
        {"d", none, bad, none, "its pipeline cannot be read"},
        {"e", none, {graph->data, graph->len}, bad, "its stored state cannot be used"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        const struct cw_state_job row = {.id = rows[i].id,
                                         .name = rows[i].id,
                                         .status = CW_JOB_RUNNING,
                                         .options = rows[i].options,
                                         .graph = rows[i].graph,
                                         .manifest = none,
                                         .info = rows[i].info,
                                         .error = ""};
        cw_state_put_job(made_up.state, &row);
    }
    cw_buf_unref(graph);
    cw_buf_unref(too_many);
    peers_turn();
    peers_restart();
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        const struct cw_job *found = cw_job_find(&made_up, rows[i].id);
        assert_non_null(found);
        assert_int_equal(found->status, CW_JOB_FAILED);
        if (!strstr(found->error, rows[i].says))
            fail_msg("\"%s\" does not say \"%s\"", found->error, rows[i].says);
    }
    job = cw_job_find(&made_up, id);
    assert_non_null(job);
    assert_int_equal(job->status, CW_JOB_RUNNING);
}

/* ---- it stands still ---- */
static void a_job_that_stands_still_says_why(void **state)
{
    (void)state;
    struct cw_stream *trainer;
    struct cw_job *job = peers_running("a", &trainer);
    CW_STR_AUTO reason = {0};
    assert_false(cw_job_lacks_leases(job, &reason)); /* it has leases */
    peers_ack(trainer, 0, 10, 0);                    /* all is received, nothing consumed */
    job->hold_until_ms = cw_clock_ms() + 100000;
    cw_lease_free_job(job);
    assert_false(cw_job_lacks_leases(job, &reason));
    job->hold_until_ms = 0;
    assert_true(cw_job_lacks_leases(job, &reason));
    assert_non_null(strstr(cw_str_text(&reason), "of epoch 0, of which 0 is the lowest"));
    int64_t t = cw_clock_ms();
    cw_job_warn_no_lease(job, t);
    assert_int_equal(job->no_lease_ms, t);
    cw_job_warn_no_lease(job, t + 29999);
    assert_int_equal(job->no_lease_ms, t);
    cw_job_warn_no_lease(job, t + 30000);
    assert_true(job->no_lease_ms == INT64_MAX); /* told, once */
    cw_job_warn_no_lease(job, t + 90000);
    job->consumers[0].ready = 3; /* its trainer has batches that it does not take */
    assert_false(cw_job_lacks_leases(job, &reason));
    cw_job_warn_no_lease(job, t + 90000);
    assert_int_equal(job->no_lease_ms, 0);
    job->consumers[0].ready = 0;
    job->workers_n = 0;
    assert_false(cw_job_lacks_leases(job, &reason));
}

/* ---- it gets less than it wants ---- */
static void a_short_share_is_told_once(void **state)
{
    (void)state;
    struct cw_job *job = peers_running("a", NULL);
    struct cw_err err = {0};
    assert_int_equal(cw_scaling_change(job, "fixed:3", false, &err), 0);
    job->scaling->target = 3;
    struct cw_telemetry *watch = cw_telemetry_of(job);
    const uint64_t *told = &made_up.counts.decisions[0];
    uint64_t before = 0, after = 0;
    job->granted = 1;
    for (size_t i = 0; i < CW_ARRAY_LEN(made_up.counts.decisions); i++)
        before += told[i];
    int64_t t = cw_clock_ms();
    cw_too_few_workers_tick(job, t);
    cw_too_few_workers_tick(job, t + 1999);
    assert_true(watch->alerted_share == 0);
    cw_too_few_workers_tick(job, t + 2000);
    assert_true(watch->alerted_share == 1);
    cw_too_few_workers_tick(job, t + 9000); /* the same */
    for (size_t i = 0; i < CW_ARRAY_LEN(made_up.counts.decisions); i++)
        after += told[i];
    assert_int_equal(after, before + 1);
    job->granted = 3;
    cw_too_few_workers_tick(job, t + 10000);
    cw_too_few_workers_tick(job, t + 12000);
    assert_true(watch->alerted_share == 0); /* it has all that it wants again */
    job->granted = 1;
    cw_too_few_workers_tick(job, t + 13000);
    job->status = CW_JOB_FINISHED;
    cw_too_few_workers_tick(job, t + 16000);
    assert_true(watch->alerted_share == 0 && watch->differs_since_ms == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peers_begin, peers_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_it_waits_for_is_told),
        TEST(a_disk_that_fails_is_told),
        TEST(what_a_preparation_says_fails_the_job),
        TEST(a_worker_of_another_version_is_asked),
        TEST(a_missing_file_fails_at_once),
        TEST(all_versions_are_asked_once),
        TEST(nothing_for_ever_is_refused),
        TEST(nothing_twice_is_finished_at_once),
        TEST(the_least_busy_worker_prepares),
        TEST(it_finishes_and_begins_again),
        TEST(what_a_trainer_did_not_consume_comes_again),
        TEST(a_job_is_over_when_nobody_uses_it),
        TEST(a_nameless_job_ends_with_its_trainer),
        TEST(a_place_in_a_shared_job_is_given_up),
        TEST(a_restarted_job_goes_on),
        TEST(a_row_that_cannot_be_read_fails_its_job_alone),
        TEST(a_job_that_stands_still_says_why),
        TEST(a_short_share_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
