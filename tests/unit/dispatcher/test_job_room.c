/* SPDX-License-Identifier: Apache-2.0 */
/* Room for a new job: which jobs go for it, and when there is none. */
#include "dispatcher/session/job_room.h"

#include <string.h>

#include "dispatcher/job/job.h"
#include "unit/dispatcher/made_up.h"

#define BYTES 1000

static struct cw_job *add(const char *id, enum cw_job_status status)
{
    struct cw_job *job = cw_job_new(&made_up, id, cachew__v1__job_options__unpack(NULL, 0, NULL),
                                    cachew__v1__graph__unpack(NULL, 0, NULL), cw_buf_new(BYTES));
    job->status = status;
    return job;
}

static bool is_there(const char *id)
{
    return cw_strmap_get(&made_up.jobs_by_id, id) != NULL;
}

static void set_up(void)
{
    made_up.options.max_jobs = 10;
    made_up.options.max_jobs_bytes = 4 * BYTES;
    add("failed", CW_JOB_FAILED);
    add("runs", CW_JOB_RUNNING);
    add("done", CW_JOB_FINISHED);
    add("prepared", CW_JOB_PREPARING);
}

static void jobs_that_are_over_go_the_oldest_first(void **state)
{
    (void)state;
    set_up();
    assert_int_equal(cw_job_room_make(&made_up, 0, NULL), 0);
    assert_true(is_there("failed") && is_there("done"));
    assert_int_equal(cw_job_room_make(&made_up, 1, NULL), 0);
    assert_true(!is_there("failed") && is_there("done"));
    assert_int_equal(cw_job_room_make(&made_up, 2 * BYTES, NULL), 0);
    assert_true(!is_there("done") && is_there("runs") && is_there("prepared"));
}

static void jobs_that_are_not_over_stay(void **state)
{
    struct cw_err err = {0};
    (void)state;
    set_up();
    assert_int_equal(cw_job_room_make(&made_up, 2 * BYTES + 1, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "would take 4001 bytes, of 4000 (--max-jobs-bytes)"));
    assert_true(is_there("runs") && is_there("prepared"));
}

static void a_job_beyond_the_number_removes_none(void **state)
{
    struct cw_err err = {0};
    (void)state;
    set_up();
    made_up.options.max_jobs = 2;
    assert_int_equal(cw_job_room_make(&made_up, 2 * BYTES, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "is full: it has 2 jobs"));
    assert_true(is_there("failed") && is_there("done"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_that_are_over_go_the_oldest_first,
                                        made_up_begin_stored, made_up_end_stored),
        cmocka_unit_test_setup_teardown(jobs_that_are_not_over_stay, made_up_begin_stored,
                                        made_up_end_stored),
        cmocka_unit_test_setup_teardown(a_job_beyond_the_number_removes_none, made_up_begin_stored,
                                        made_up_end_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
