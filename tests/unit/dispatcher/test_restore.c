/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs as they come back from the state directory, whatever is stored of them. */
#include <string.h>
#include "dispatcher/job/job.h"
#include "unit/dispatcher/made_up.h"

/* A row, of which tests spoil a part. */
struct row {
    struct cw_buf *options, *graph, *info;
    struct cw_state_job job;
};

static struct cw_state_blob blob(const struct cw_buf *buf)
{
    return (struct cw_state_blob){buf->data, buf->len};
}

static void begin_row(struct row *row, const Cachew__V1__JobOptions *options,
                      const Cachew__V1__PlanInfo *info)
{
    Cachew__V1__Graph graph = CACHEW__V1__GRAPH__INIT;
    *row = (struct row){.options = cw_wire_pack(&options->base),
                        .graph = cw_wire_pack(&graph.base),
                        .info = cw_wire_pack(&info->base)};
    row->job = (struct cw_state_job){.id = "j1",
                                     .name = "name",
                                     .status = CW_JOB_RUNNING,
                                     .options = blob(row->options),
                                     .graph = blob(row->graph),
                                     .manifest = {"m", 1},
                                     .info = blob(row->info),
                                     .first_epoch = 2,
                                     .error = ""};
}

static void end_row(struct row *row)
{
    cw_buf_unref(row->options);
    cw_buf_unref(row->graph);
    cw_buf_unref(row->info);
}

static Cachew__V1__PlanInfo good_info(Cachew__V1__Spec *out)
{
    Cachew__V1__PlanInfo info = CACHEW__V1__PLAN_INFO__INIT;
    cachew__v1__spec__init(out);
    info.out = out;
    info.items = 10;
    info.item_bytes = -1;
    return info;
}

static struct cw_job *load(const struct row *row)
{
    struct cw_err err = {0};
    if (cw_restore_job(&made_up, &row->job, &err) != 0)
        fail_msg("%s", err.msg);
    struct cw_job *job = cw_job_find(&made_up, "j1");
    assert_non_null(job);
    assert_string_equal(job->name, "name");
    assert_true(job->row_written && job->stored);
    return job;
}

static void a_job_comes_back(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    struct row row;
    begin_row(&row, &options, &info);
    const struct cw_job *job = load(&row);
    assert_int_equal(job->status, CW_JOB_RUNNING);
    assert_int_equal(job->items, 10);
    assert_int_equal(job->first_epoch, 2);
    assert_int_equal(job->manifest->len, 1);
    end_row(&row);
}

/* What cannot be used fails that job alone, with words that say what to do. */
static void fails(const struct row *row, const char *why)
{
    const struct cw_job *job = load(row);
    assert_int_equal(job->status, CW_JOB_FAILED);
    assert_non_null(strstr(job->error, why));
    assert_non_null(strstr(job->error, "cachew remove"));
}

static void facts_that_are_out_of_range_fail_it(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    info.elements = -7;
    struct row row;
    begin_row(&row, &options, &info);
    fails(&row, "out of range");
    end_row(&row);
}

static void facts_that_are_missing_fail_it(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    struct row row;
    begin_row(&row, &options, &info);
    row.job.info = (struct cw_state_blob){"\377\377\377", 3};
    fails(&row, "missing");
    end_row(&row);
}

static void facts_that_do_not_fit_the_options_fail_it(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    options.mode = CACHEW__V1__CONSUMER_MODE__SHARED;
    options.consumers = 2;
    info.sparse = true;
    info.chunk = 5;
    info.join_batch = 1;
    struct row row;
    begin_row(&row, &options, &info);
    fails(&row, "shared");
    end_row(&row);
}

static void options_that_cannot_be_read_fail_it(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    options.consumers = CW_CONSUMERS_MAX + 1;
    struct row row;
    begin_row(&row, &options, &info);
    fails(&row, "options");
    end_row(&row);
}

static void a_pipeline_that_cannot_be_read_fails_it(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    struct row row;
    begin_row(&row, &options, &info);
    row.job.graph = (struct cw_state_blob){"\377\377\377", 3};
    fails(&row, "pipeline");
    end_row(&row);
}

/* A job never runs without the list of its files: nobody would see that they are others. */
static void no_memory_for_the_manifest_is_an_error(void **state)
{
    (void)state;
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    Cachew__V1__Spec out;
    Cachew__V1__PlanInfo info = good_info(&out);
    struct cw_err err = {0};
    struct row row;
    begin_row(&row, &options, &info);
    row.job.manifest.n = SIZE_MAX / 2;
    assert_int_equal(cw_restore_job(&made_up, &row.job, &err), CW_E_NOMEM);
    assert_non_null(strstr(err.msg, "j1"));
    end_row(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_comes_back, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(facts_that_are_out_of_range_fail_it, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(facts_that_are_missing_fail_it, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(facts_that_do_not_fit_the_options_fail_it, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(options_that_cannot_be_read_fail_it, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(a_pipeline_that_cannot_be_read_fails_it, made_up_begin,
                                        made_up_end),
        cmocka_unit_test_setup_teardown(no_memory_for_the_manifest_is_an_error, made_up_begin,
                                        made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
