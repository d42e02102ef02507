/* SPDX-License-Identifier: Apache-2.0 */
/* What exec says of the time of its threads: inside of a plan's items, and besides. */
#include "base/clock.h"
#include "base/mem.h"
#include "format/source_file.h"
#include "run.h"
#include "support/cm.h"

#include <string.h>
#include <unistd.h>

#define SLEEPS                                                                                     \
    "{\"op\":\"range\",\"stop\":200},{\"op\":\"sleep\",\"ms\":1},{\"op\":\"batch\",\"size\":5}"

static struct cw_exec_plan_time time_of(struct cw_plan *plan, size_t threads)
{
    struct cw_exec_plan_time time;
    struct cw_exec *exec = cw_exec_new(threads);
    size_t n = cw_plan_info(plan)->items;
    free_jobs(run_all(exec, plan, 0, CW_BAD_FAIL, n), n);
    cw_exec_free(exec);
    cw_exec_plan_time(plan, &time);
    return time;
}

/* A busy machine may take the CPU from a thread anywhere, for longer than what is told apart here
 * takes. So what is compared is run until it compares as it should. */
#define TRIES 200

/* Threads that sleep inside an operator are busy, without a CPU; none of it is the source's. */
static void an_operator_waits(void **state)
{
    (void)state;
    struct cw_exec_plan_time time = {.source_ns = 1};
    for (int i = 0; i < TRIES && time.inside_ns <= time.source_ns; i++) {
        struct cw_plan *plan = plan_of(SLEEPS, 1);
        struct cw_exec_plan_time none;
        cw_exec_plan_time(plan, &none);
        assert_int_equal(none.busy_ns + none.inside_ns + none.source_ns, 0);
        time = time_of(plan, 2);
        /* Not every call is timed, and those behind the last that was are not known yet. */
        assert_true(time.inside_ns >= 200 * 1000000ull / 2);
        assert_true(time.busy_ns >= 200 * 1000000ull && time.busy_ns > time.cpu_ns);
        assert_int_equal(time.store_ns, 0);
        /* Two threads are busy for no more than twice the time in which one of them is. */
        assert_true(time.active_ns > 0 && 2 * time.active_ns >= time.busy_ns);
        cw_plan_unref(plan);
    }
    assert_true(time.inside_ns > time.source_ns);
}

/* Reads nothing, and takes its time: a source on a network. */
static int slow_read(void *arg, const struct cw_source_file *file, uint64_t offset, void *dst,
                     size_t n, struct cw_err *err)
{
    (void)arg, (void)file, (void)offset, (void)err;
    memset(dst, 0, n);
    return usleep(2000);
}

/* What read_file waits for is the source's, although it is not a source operator itself. */
static void reading_is_the_source(void **state)
{
    (void)state;
    static const struct cw_source_hook slow = {.read = slow_read};
    struct cw_exec_plan_time time = {.inside_ns = 1};
    cw_source_hook_set(&slow);
    for (int i = 0; i < TRIES && time.source_ns <= time.inside_ns; i++) {
        struct cw_plan *plan =
            plan_of("{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_420.jpg\"},{\"op\":"
                    "\"read_file\"},{\"op\":\"repeat\",\"count\":5},{\"op\":\"batch\",\"size\":1}",
                    1);
        time = time_of(plan, 1);
        assert_true(time.source_ns >= 2000000);
        cw_plan_unref(plan);
    }
    cw_source_hook_set(NULL);
    assert_true(time.source_ns > time.inside_ns);
}

/* Waits until a number of the pool has grown. */
static void wait_for(struct cw_exec *exec, bool paused)
{
    struct cw_exec_thread_time first, now;
    cw_exec_thread_time(exec, false, &first);
    do
        cw_exec_thread_time(exec, true, &now);
    while (paused ? now.paused_ns == first.paused_ns : now.idle_ns == first.idle_ns);
}

/* A thread without work is idle; one whose pool has used up its CPU time pauses. */
static void besides_items(void **state)
{
    (void)state;
    struct cw_exec *exec = cw_exec_new(1);
    wait_for(exec, false);
    cw_exec_free(exec);
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":8},{\"op\":\"burn\",\"ms\":1},"
                                   "{\"op\":\"batch\",\"size\":1}",
                                   1);
    struct cw_exec_thread_time time = {0};
    exec = cw_exec_new(1);
    cw_exec_limit_cpu(exec, 0.05);
    /* Whoever gets less of the CPU than the limit need not pause. */
    for (int i = 0; i < TRIES && time.paused_ns == 0; i++) {
        free_jobs(run_all(exec, plan, 0, CW_BAD_FAIL, 8), 8);
        cw_exec_thread_time(exec, false, &time);
    }
    assert_true(time.paused_ns > 0);
    assert_int_equal(time.delay_ns, 0); /* it was not asked for */
    cw_exec_free(exec);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_operator_waits),
                                       cmocka_unit_test(reading_is_the_source),
                                       cmocka_unit_test(besides_items)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
