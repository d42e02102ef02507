/* SPDX-License-Identifier: Apache-2.0 */
/* What a job is said to be by the worker that prepared it, and why it cannot be. */
#include <string.h>
#include "dispatcher/job/job.h"
#include "unit/dispatcher/made_up.h"

static struct cw_job *preparing(Cachew__V1__ConsumerMode mode)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    options->mode = mode;
    options->consumers = 2;
    return cw_job_new(&made_up, "a", options, cachew__v1__graph__unpack(NULL, 0, NULL),
                      cw_buf_new(0));
}

/* A job that failed tells its clients, and the log, this reason. */
static void assert_failed(const struct cw_job *job, int code, const char *reason)
{
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_int_equal(job->error_code, code);
    if (!strstr(job->error, reason))
        fail_msg("\"%s\" does not say \"%s\"", job->error, reason);
    assert_true(made_up.due.failed_jobs);
}

static void shared_consumers_cannot_filter(void **state)
{
    (void)state;
    struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__SHARED);
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    info.items = 10;
    info.sparse = true;
    info.chunk = 1;
    prepared.info = &info;
    cw_job_prepared(job, &prepared);
    assert_failed(job, CW_E_UNSUPPORTED, "consumers=shared is not possible");
}

static void consumers_cannot_disagree_on_rows(void **state)
{
    (void)state;
    struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    job->options->at_most_once = true;
    info.items = 10;
    info.sparse = true;
    info.chunk = 1;
    prepared.info = &info;
    cw_job_prepared(job, &prepared);
    assert_failed(job, CW_E_UNSUPPORTED, "at_most_once with several consumers is not possible");
}

static void what_is_not_valid_is_named(void **state)
{
    (void)state;
    struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    struct cw_plan_info checked;
    struct cw_err why = {0};
    info.item_bytes = -2;
    assert_true(cw_wire_info_from(&info, &checked, &why) != 0);
    prepared.info = &info;
    cw_job_prepared(job, &prepared);
    assert_failed(job, CW_E_INTERNAL, "sent nothing valid: ");
    assert_string_equal(strstr(job->error, "valid: ") + strlen("valid: "), why.msg);
}

/* In a fleet of different builds one worker may not know an operator: it is named. */
static void a_worker_of_several_is_named(void **state)
{
    static char version[] = "1.2.3", no_such[] = "node \"x\" (x): there is no such operator";
    (void)state;
    for (int workers = 1; workers <= 2; workers++) {
        struct cw_worker *worker = made_up_worker((uint64_t)workers, 1);
        struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
        Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
        worker->version = version;
        prepared.code = CW_E_INVALID;
        prepared.error = no_such;
        cw_job_set_preparing(job, worker);
        cw_job_prepared(job, &prepared);
        assert_failed(job, CW_E_INVALID, no_such);
        assert_int_equal(strstr(job->error, " (worker worker says so, of version 1.2.3)") != NULL,
                         workers == 2);
        worker->version = NULL;
    }
}

static void nothing_is_not_valid(void **state)
{
    (void)state;
    struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    cw_job_prepared(job, &prepared);
    assert_failed(job, CW_E_INTERNAL, "sent nothing valid: facts of the pipeline are missing");
}

static void no_elements_and_no_end_is_no_job(void **state)
{
    (void)state;
    struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
    prepared.info = &info;
    cw_job_prepared(job, &prepared);
    assert_failed(job, CW_E_INVALID, "the pipeline has no elements");
}

/* What all jobs have together counts, not one alone. */
static void a_list_of_files_beyond_the_room_of_all_jobs_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[1000] = {0};
    for (int over = 0; over < 2; over++) {
        struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
        Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
        Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
        prepared.info = &info;
        prepared.manifest = (ProtobufCBinaryData){sizeof(bytes), bytes};
        uint64_t have = 0;
        for (const struct cw_job *other = made_up.jobs; other; other = other->next)
            have += cw_job_graph(other)->len;
        made_up.options.max_jobs_bytes = have + sizeof(bytes) - (over ? 1 : 0);
        cw_job_prepared(job, &prepared);
        assert_failed(job, over ? CW_E_LIMIT : CW_E_INVALID,
                      over ? "(--max-jobs-bytes)" : "the pipeline has no elements");
    }
    made_up.options.max_jobs_bytes = 0;
}

/* Clients come back for ever after what passes. */
static void a_server_that_is_away_ends_the_job(void **state)
{
    static const int passing[] = {CW_E_UNAVAILABLE, CW_E_TIMEOUT, CW_E_AGAIN};
    static char away[] = "http://host/x: try 4: nothing came for 120 s";
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(passing); i++) {
        struct cw_job *job = preparing(CACHEW__V1__CONSUMER_MODE__COORDINATED);
        Cachew__V1__Prepared prepared = CACHEW__V1__PREPARED__INIT;
        prepared.code = passing[i];
        prepared.error = away;
        cw_job_prepared(job, &prepared);
        assert_failed(job, CW_E_IO, away);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_consumers_cannot_filter, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(consumers_cannot_disagree_on_rows, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(what_is_not_valid_is_named, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_worker_of_several_is_named, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(nothing_is_not_valid, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_list_of_files_beyond_the_room_of_all_jobs_is_refused,
                                        made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(a_server_that_is_away_ends_the_job, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(no_elements_and_no_end_is_no_job, made_up_begin,
                                        made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
