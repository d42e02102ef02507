/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that see other files than a job was prepared with. */
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "unit/dispatcher/made_up.h"

#include <string.h>

static void tick(struct cw_job *job, int64_t now)
{
    cw_other_files_tick(job, now);
    cw_job_judge_files(job, now);
}

static void verdicts(void **state)
{
    static const struct {
        struct cw_files_view view; /* others, barred, preparer, none_ms, grace_ms */
        enum cw_files_verdict verdict;
    } rows[] = {
        {{false, false, false, 0, 10}, CW_FILES_GO_ON}, /* no worker at all: not this matter */
        {{true, false, false, 0, 10}, CW_FILES_GO_ON},
        {{true, true, false, 0, 10}, CW_FILES_GO_ON},
        /* they changed here, but another may still have the old ones */
        {{true, true, true, 0, 10}, CW_FILES_GO_ON},
        {{true, true, true, 100, 10}, CW_FILES_GO_ON},
        {{false, true, false, 0, 10}, CW_FILES_WAIT},
        {{false, true, false, 9, 10}, CW_FILES_WAIT},
        {{false, true, false, 10, 10}, CW_FILES_FAIL},
        {{false, true, false, 0, 0}, CW_FILES_FAIL},
        /* the files themselves changed: nobody will come who has them */
        {{false, true, true, 0, 10}, CW_FILES_FAIL},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        assert_int_equal(cw_other_files_verdict(&rows[i].view), rows[i].verdict);
}

static struct cw_job *begin_job(uint64_t prepared_by)
{
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    info->items = 1000;
    info->elements = 1000;
    options->window = 100;
    options->lease_items = 10;
    struct cw_job *job = made_up_job("j1", options, info);
    job->epochs_n = 1;
    job->prepared_by = prepared_by;
    made_up.options.grace_ms = 10000;
    return job;
}

static uint64_t leased(const struct cw_job *job, const struct cw_worker *worker)
{
    uint64_t n = 0;
    for (const struct cw_lease *lease = cw_share_find(job, worker)->leases; lease;
         lease = lease->next)
        n += cw_set_count(&lease->items);
    return n;
}

/* What it was leased goes to the other one, and it gets no more until it is tried again; once it
 * has computed something all is well. */
static void another_goes_on(void **state)
{
    struct cw_worker *bad = made_up_worker(2, 1), *good = made_up_worker(1, 1);
    struct cw_job *job = begin_job(1);
    uint32_t n = 0;
    (void)state;
    cw_lease_fill_all(&made_up);
    assert_true(leased(job, bad) > 0 && leased(job, good) > 0);
    struct cw_share *share = cw_share_find(job, bad);
    cw_job_other_files_seen(share, "/data/a: its size is another one", cw_clock_ms());
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_int_equal(leased(job, bad), 0);
    assert_false(cw_worker_serves(bad, job));
    assert_true(cw_worker_serves(good, job));
    cw_job_leases_due(job);
    cw_lease_fill_all(&made_up);
    assert_int_equal(leased(job, bad), 0);
    assert_string_equal(cw_other_files_text(job, &n),
                        "worker worker: /data/a: its size is another one");
    assert_int_equal(n, 1);
    cw_other_files_computed(share); /* what it had begun with before */
    assert_false(cw_worker_serves(bad, job));
    tick(job, share->barred_ms + CW_OTHER_FILES_RETRY_MS - 1);
    assert_false(cw_worker_serves(bad, job));
    tick(job, share->barred_ms + CW_OTHER_FILES_RETRY_MS);
    assert_true(cw_worker_serves(bad, job));
    assert_non_null(cw_other_files_text(job, &n));
    cw_other_files_computed(share);
    assert_null(cw_other_files_text(job, &n));
    assert_int_equal(n, 0);
}

/* The one that prepared it is gone: the job waits for one that has the files, so long. */
static void nobody_sees_them(void **state)
{
    struct cw_worker *bad = made_up_worker(2, 1);
    struct cw_job *job = begin_job(1);
    (void)state;
    cw_lease_fill_all(&made_up);
    cw_job_other_files_seen(cw_share_find(job, bad), "/data/a: its bytes are others",
                            cw_clock_ms());
    assert_int_equal(job->status, CW_JOB_RUNNING);
    int64_t since = job->no_files_ms;
    assert_true(since > 0);
    tick(job, since + 9999);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    struct cw_worker *good = made_up_worker(3, 1);
    tick(job, since + 10000);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_int_equal(job->no_files_ms, 0);
    good->draining = true;
    tick(job, since + 20000);
    tick(job, since + 30000);
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_int_equal(job->error_code, CW_E_OTHER_FILE);
    assert_non_null(strstr(job->error, "worker worker: /data/a: its bytes are others"));
}

/* The files changed where the job was prepared, and there is no other worker. */
static void they_changed(void **state)
{
    struct cw_worker *only = made_up_worker(1, 1);
    struct cw_job *job = begin_job(1);
    (void)state;
    cw_lease_fill_all(&made_up);
    cw_job_other_files_seen(cw_share_find(job, only), "/data/a: its bytes are others",
                            cw_clock_ms());
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_int_equal(job->error_code, CW_E_OTHER_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test_setup_teardown(another_goes_on, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(nobody_sees_them, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(they_changed, made_up_begin, made_up_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
