/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a job for people to look at: windows with the same workers all through, the
 * latest of them, and totals of nodes. */
#include "dispatcher/admin/admin_int.h"
#include "unit/dispatcher/made_up.h"

#include <string.h>

static struct cw_job *begin_job(void)
{
    static char op[] = "range", name[] = "numbers";
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    Cachew__V1__Cacheable node = CACHEW__V1__CACHEABLE__INIT, *list[] = {&node};
    Cachew__V1__PlanInfo from = CACHEW__V1__PLAN_INFO__INIT;
    uint8_t bytes[256];
    node.node = name;
    node.op = op;
    from.items = 100;
    from.cacheable = list;
    from.n_cacheable = 1;
    size_t n = cachew__v1__plan_info__pack(&from, bytes);
    cachew__v1__plan_info__free_unpacked(info, NULL);
    made_up.options.scale_window_ms = 100;
    struct cw_job *job = made_up_job("j1", options, cachew__v1__plan_info__unpack(NULL, n, bytes));
    struct cw_client *client = CW_NEW(struct cw_client);
    cw_job_add_client(job, client);
    return job;
}

static void end_client(struct cw_job *job)
{
    struct cw_client *client = job->clients;
    cw_job_remove_client(client);
    cw_mem_free(client);
}

static void measured_by(struct cw_job *job, uint32_t consumer, uint64_t batches, uint64_t ns,
                        uint64_t wait_ns, uint64_t step_ns)
{
    Cachew__V1__Measure measure = CACHEW__V1__MEASURE__INIT;
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    measure.batches = batches;
    measure.ns = ns;
    measure.wait_ns = wait_ns;
    measure.step_ns = step_ns;
    ack.measure = &measure;
    ack.ready = 3;
    cw_telemetry_measured(job, consumer, &ack);
}

static void measured(struct cw_job *job, uint64_t batches, uint64_t ns, uint64_t wait_ns,
                     uint64_t step_ns)
{
    measured_by(job, 0, batches, ns, wait_ns, step_ns);
}

/* Tells of `n` bad elements in all; `batches` are those of the first of them, as digits. */
static void tell_bad(struct cw_job *job, uint32_t consumer, uint64_t client_id, uint64_t n,
                     const char *batches)
{
    Cachew__V1__BadElement bad[20], *list[20];
    Cachew__V1__Ack ack = CACHEW__V1__ACK__INIT;
    ack.bad_n = n;
    ack.bad = list;
    for (; batches[ack.n_bad]; ack.n_bad++) {
        cachew__v1__bad_element__init(&bad[ack.n_bad]);
        bad[ack.n_bad].batch = (uint64_t)(batches[ack.n_bad] - '0');
        list[ack.n_bad] = &bad[ack.n_bad];
    }
    cw_telemetry_take_bad(job, consumer, client_id, ack.bad_n, ack.bad, ack.n_bad);
}

static void first_are(const struct cw_job *job, const char *batches)
{
    const struct cw_bad_report *report = &job->telemetry->bad;
    assert_int_equal(report->first_n, strlen(batches));
    for (size_t i = 0; batches[i]; i++)
        assert_int_equal(report->first[i].batch, batches[i] - '0');
}

/* Nothing counts twice, whoever tells it again. */
static void bad_elements(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    tell_bad(job, 0, 100, 0, "");
    assert_null(job->telemetry);
    tell_bad(job, 0, 100, 3, "257");
    const struct cw_bad_report *report = &job->telemetry->bad;
    assert_int_equal(cw_bad_report_n(report), 3);
    first_are(job, "257");
    tell_bad(job, 0, 100, 3, "257"); /* on another stream */
    tell_bad(job, 0, 100, 2, "");    /* late */
    tell_bad(job, 0, 100, 5, "63");
    assert_int_equal(cw_bad_report_n(report), 5);
    first_are(job, "23567");
    tell_bad(job, 0, 101, 4, "78"); /* the next process of the slot got one of them again */
    assert_int_equal(cw_bad_report_n(report), 9);
    first_are(job, "235678");
    for (uint64_t i = 0; i < 30; i++) /* there is room for the first ones */
        tell_bad(job, 0, 101, 4, (const char[]){(char)('0' + 40 - i), '\0'});
    assert_int_equal(report->first_n, CW_BAD_FIRST_MAX);
    assert_int_equal(report->first[0].batch, 2);
    for (size_t i = 1; i < CW_BAD_FIRST_MAX; i++)
        assert_true(report->first[i].batch > report->first[i - 1].batch);
    end_client(job);
}

/* A process that tells its total to the next dispatcher is known there. */
static void bad_elements_are_stored(void **state)
{
    (void)state;
    uint64_t counts[CW_STATE_COUNTS_MAX] = {0};
    struct cw_job *job = begin_job();
    tell_bad(job, 0, 100, 3, "2");
    tell_bad(job, 0, 101, 4, "8");
    assert_true(cw_telemetry_is_changed(job));
    counts[10] = 3;
    counts[11] = 101;
    counts[12] = 4;
    cw_telemetry_free(job);
    cw_telemetry_restore(job, counts, 16);
    assert_int_equal(cw_bad_report_n(&job->telemetry->bad), 7);
    tell_bad(job, 0, 101, 6, "89");
    assert_int_equal(cw_bad_report_n(&job->telemetry->bad), 9);
    tell_bad(job, 0, 102, 1, "9");
    assert_int_equal(cw_bad_report_n(&job->telemetry->bad), 10);
    first_are(job, "89");
    end_client(job);
}

/* Each consumer's total survives the dispatcher, whether its process comes back or not. */
static void bad_elements_of_all_consumers_are_stored(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    uint64_t counts[CW_STATE_COUNTS_MAX] = {0};
    job->layout.consumers = 3;
    tell_bad(job, 0, 100, 3, "2");
    tell_bad(job, 1, 101, 4, "8");
    tell_bad(job, 2, 102, 5, "9");
    size_t n = cw_telemetry_counts(job, counts);
    cw_telemetry_free(job);
    cw_telemetry_restore(job, counts, n);
    assert_int_equal(cw_bad_report_n(&job->telemetry->bad), 12);
    assert_null(job->measured);
    tell_bad(job, 1, 101, 6, "8"); /* it is back */
    assert_int_equal(cw_bad_report_n(&job->telemetry->bad), 14);
    tell_bad(job, 2, 103, 1, "9"); /* another process has its place */
    assert_int_equal(cw_bad_report_n(&job->telemetry->bad), 15);
    job->layout.consumers = 1;
    end_client(job);
}

static void windows(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    (void)made_up_worker(1, 2);
    int64_t now = cw_clock_ms();
    cw_telemetry_tick(job, now); /* it has a worker now: begins */
    measured(job, 10, 2000, 500, 150);
    cw_telemetry_tick(job, now + 99);
    assert_null(cw_telemetry_last_window(job));
    cw_telemetry_tick(job, now + 100);
    const struct cw_scale_window *w = cw_telemetry_last_window(job);
    assert_non_null(w);
    assert_true(w->batches == 10 && w->seconds == 2000 / 1e9 && w->wait_share == 0.25 &&
                w->queue == 3 && w->remote == 1 && w->local == 0);
    assert_true(w->step_s > 149e-9 && w->step_s < 151e-9);
    /* another worker in the middle: what was measured before it is left out */
    measured(job, 10, 2000, 500, 150);
    (void)made_up_worker(2, 2);
    cw_telemetry_tick(job, now + 150);
    measured(job, 7, 1000, 0, 0);
    cw_telemetry_tick(job, now + 220);
    assert_ptr_equal(cw_telemetry_window(job, 1), NULL);
    cw_telemetry_tick(job, now + 250);
    w = cw_telemetry_window(job, 1);
    assert_true(w && w->batches == 7 && w->remote == 2 && w->wait_share == 0 && w->step_s == 0);
    /* nothing is made of no batches */
    cw_telemetry_tick(job, now + 250 + 5 * 100);
    assert_null(cw_telemetry_window(job, 2));
    assert_true(job->telemetry->all.batches == 27);
    /* the latest are kept, the oldest first */
    for (int i = 1; i <= CW_WINDOWS_KEPT + 5; i++) {
        measured(job, (uint64_t)i, 10, 1, 0);
        cw_telemetry_tick(job, now + 1000 + 100 * i);
    }
    assert_true(cw_telemetry_window(job, 0)->batches == 6);
    assert_true(cw_telemetry_window(job, CW_WINDOWS_KEPT - 1)->batches == CW_WINDOWS_KEPT + 5);
    assert_ptr_equal(cw_telemetry_window(job, CW_WINDOWS_KEPT - 1), cw_telemetry_last_window(job));
    assert_null(cw_telemetry_window(job, CW_WINDOWS_KEPT));
    end_client(job);
    cw_telemetry_tick(job, now + 100000); /* nobody trains */
    assert_true(job->telemetry->now.batches == 0);
}

/* Each consumer's wait is that of the last window; whose trainer took nothing in it has none. */
static void waits_of_consumers(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    (void)made_up_worker(1, 2);
    int64_t now = cw_clock_ms();
    size_t n = 7;
    job->layout.consumers = 3;
    assert_null(cw_telemetry_waits(job, &n));
    assert_int_equal(n, 0);
    cw_telemetry_tick(job, now);
    measured_by(job, 0, 5, 1000, 250, 150);
    measured_by(job, 2, 5, 1000, 5000, 150);  /* a clock that went wrong */
    measured_by(job, 3, 5, 1000, 500, 150);   /* there is no such consumer */
    assert_null(cw_telemetry_waits(job, &n)); /* no window has ended yet */
    cw_telemetry_tick(job, now + 100);
    const float *waits = cw_telemetry_waits(job, &n);
    assert_true(n == 3 && waits[0] == 0.25F && waits[1] < 0 && waits[2] == 1);
    measured_by(job, 1, 5, 1000, 500, 150);
    cw_telemetry_tick(job, now + 150);
    assert_true(waits[0] == 0.25F && waits[1] < 0);
    cw_telemetry_tick(job, now + 200); /* what the first window had does not count again */
    assert_true(waits[0] < 0 && waits[1] == 0.5F && waits[2] < 0);
    Cachew__V1__JobRow row = CACHEW__V1__JOB_ROW__INIT;
    Cachew__V1__TrainerWindow window;
    cw_svc_telemetry_row(job, &window, &row);
    assert_true(row.n_consumer_waits == 3 && row.consumer_waits[1] == 0.5F);
    job->layout.consumers = 1;
    end_client(job);
}

static void nodes(void **state)
{
    (void)state;
    struct cw_job *job = begin_job();
    struct cw_worker *a = made_up_worker(1, 2), *b = made_up_worker(2, 2);
    static char id[] = "j1", other[] = "j2", node[] = "numbers", unknown[] = "letters";
    Cachew__V1__NodeCounts counts[] = {CACHEW__V1__NODE_COUNTS__INIT, CACHEW__V1__NODE_COUNTS__INIT,
                                       CACHEW__V1__NODE_COUNTS__INIT};
    Cachew__V1__NodeCounts *list[] = {&counts[0], &counts[1], &counts[2]};
    Cachew__V1__Progress progress = CACHEW__V1__PROGRESS__INIT;
    for (size_t i = 0; i < 3; i++) {
        counts[i].job_id = i == 1 ? other : id;
        counts[i].node = i == 2 ? unknown : node;
        counts[i].elements = 30;
        counts[i].hits = 10;
    }
    progress.counts = list;
    progress.n_counts = 3;
    assert_null(cw_telemetry_most_hits(job));
    cw_telemetry_take_counts(a, &progress);
    cw_telemetry_take_counts(a, &progress); /* totals: nothing new */
    cw_telemetry_take_counts(b, &progress);
    const struct cw_node_sums *m = cw_telemetry_most_hits(job);
    assert_true(m && m->elements == 60 && m->hits == 20);
    Cachew__V1__JobRow row = CACHEW__V1__JOB_ROW__INIT;
    Cachew__V1__TrainerWindow window;
    cw_svc_telemetry_row(job, &window, &row);
    assert_true(row.hits == 20 && row.hit_share == 0.25 && row.assigned == 2 && !row.window);
    assert_string_equal(row.autoscale, "off");
    end_client(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(waits_of_consumers, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(nodes, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(bad_elements, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(bad_elements_are_stored, made_up_begin, made_up_end),
        cmocka_unit_test_setup_teardown(bad_elements_of_all_consumers_are_stored, made_up_begin,
                                        made_up_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
