/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that is lent: other threads run calls in its thread's place, one at a time, and timers that
 * such calls start are not slept through. */
#include "support/cm.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/thread.h"
#include "loop/loop.h"

#define CALLS 3000
#define THREADS 3
#define FAR_MS 600000 /* longer than the test may take */

static struct cw_loop *loop;
static _Thread_local char mark; /* another in each thread */

static void run_loop(void *arg)
{
    (void)arg;
    cw_loop_run(loop);
}

struct caller {
    struct cw_thread thread;
    int next;
};
struct call {
    struct cw_loop_node node;
    struct caller *caller;
    const char *mark;
    int number;
};
/* Whoever runs calls writes these without a lock: the sanitizer sees if they are not alone. */
static int running, ran, ran_by_caller, wanted;
static atomic_int all_ran;

static void on_call(void *arg)
{
    struct call *call = arg;
    assert_int_equal(running++, 0);
    assert_int_equal(call->number, call->caller->next++);
    ran_by_caller += call->mark == &mark;
    cw_mem_free(call);
    running--;
    if (++ran == wanted)
        atomic_store(&all_ran, 1);
}

static void make_call(struct caller *caller, int number)
{
    struct call *call = CW_NEW(struct call);
    *call = (struct call){{NULL, on_call, call}, caller, &mark, number};
    if (number % 3 == 2)
        cw_loop_post_node(loop, &call->node);
    else
        cw_loop_run_node(loop, &call->node);
}

static void make_calls(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        make_call(arg, i);
}

static void calls_run_one_at_a_time_in_each_threads_order(void **state)
{
    struct caller callers[THREADS] = {{.next = 0}};
    struct cw_thread thread = {0};
    (void)state;
    ran = 0;
    wanted = THREADS * CALLS;
    loop = cw_loop_new();
    cw_loop_lend(loop);
    cw_thread_start(&thread, "loop", run_loop, NULL);
    for (int i = 0; i < THREADS; i++)
        cw_thread_start(&callers[i].thread, "caller", make_calls, &callers[i]);
    for (int i = 0; i < THREADS; i++)
        cw_thread_join(&callers[i].thread);
    while (!atomic_load(&all_ran))
        sched_yield();
    cw_loop_stop(loop);
    cw_thread_join(&thread);
    assert_int_equal(ran, wanted);
    cw_loop_free(loop);
}

/* Sooner or later the loop's thread only waits when a call is made. */
static void a_call_runs_on_the_thread_that_has_it(void **state)
{
    struct caller caller = {.next = 0};
    struct cw_thread thread = {0};
    (void)state;
    ran = ran_by_caller = 0;
    atomic_store(&all_ran, 0);
    wanted = 1;
    loop = cw_loop_new();
    cw_loop_lend(loop);
    cw_thread_start(&thread, "loop", run_loop, NULL);
    for (bool seen = false; !seen;) {
        caller.next = 0;
        make_call(&caller, 0);
        while (!atomic_exchange(&all_ran, 0))
            sched_yield();
        seen = ran_by_caller > 0;
        wanted = ran + 1;
    }
    cw_loop_stop(loop);
    cw_thread_join(&thread);
    cw_loop_free(loop);
}

/* A loop that is not lent, or that does not run, runs its calls itself. */
static void a_loop_that_does_not_run_is_left_alone(void **state)
{
    struct caller caller = {.next = 0};
    (void)state;
    ran = 0;
    wanted = -1;
    loop = cw_loop_new();
    make_call(&caller, 0);
    cw_loop_lend(loop);
    make_call(&caller, 1);
    assert_int_equal(ran, 0);
    cw_loop_free(loop);
    assert_int_equal(ran, 2);
}

static struct cw_timer *timer;
static int ends;
static atomic_int fired;

static void on_end(void *arg)
{
    (void)arg;
    ends++;
}

static void on_timer(void *arg)
{
    (void)arg;
    atomic_store(&fired, 1);
}

static void start_timer(void *arg)
{
    (void)arg;
    cw_timer_start(timer, 1, 0);
}

/* The loop's thread sleeps for long when another thread starts a timer that is due soon. */
static void a_timer_that_a_lent_call_starts_is_in_time(void **state)
{
    struct cw_thread thread = {0};
    (void)state;
    loop = cw_loop_new();
    cw_loop_lend(loop);
    cw_loop_set_iteration_end(loop, on_end, NULL);
    timer = cw_timer_new(loop, on_timer, NULL);
    cw_timer_start(timer, FAR_MS, 0);
    cw_thread_start(&thread, "loop", run_loop, NULL);
    for (int i = 0; i < 20; i++) {
        struct cw_loop_node node = {NULL, start_timer, NULL};
        atomic_store(&fired, 0);
        cw_loop_run_node(loop, &node);
        while (!atomic_load(&fired))
            sched_yield();
    }
    cw_loop_stop(loop);
    cw_thread_join(&thread);
    assert_true(ends >= 20); /* the end of an iteration is one here, too */
    cw_timer_free(timer);
    cw_loop_free(loop);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(calls_run_one_at_a_time_in_each_threads_order),
    cmocka_unit_test(a_call_runs_on_the_thread_that_has_it),
    cmocka_unit_test(a_loop_that_does_not_run_is_left_alone),
    cmocka_unit_test(a_timer_that_a_lent_call_starts_is_in_time)};
CW_TESTS_MAIN(tests)
