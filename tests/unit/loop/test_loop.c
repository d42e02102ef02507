/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "loop/loop.h"

#define POSTS 5000
#define THREADS 4

static struct cw_loop *loop;

struct producer {
    struct cw_thread thread;
    int next; /* loop: what the next call must carry */
};
struct call {
    struct cw_loop_node node;
    struct producer *producer;
    int number;
};
static int calls_left;                 /* loop */
static _Thread_local char thread_mark; /* another in each thread */
static const char *main_mark;

static void on_call(void *arg)
{
    struct call *call = arg;

    assert_ptr_equal(&thread_mark, main_mark);
    assert_int_equal(call->number, call->producer->next++);
    cw_mem_free(call);
    if (--calls_left == 0)
        cw_loop_stop(loop);
}

static void produce(void *arg)
{
    for (int i = 0; i < POSTS; i++) {
        struct call *call = CW_NEW(struct call);
        call->producer = arg;
        call->number = i;
        call->node.fn = on_call;
        call->node.arg = call;
        if (i % 2)
            cw_loop_post(loop, on_call, call);
        else
            cw_loop_post_node(loop, &call->node);
    }
}

static void posts_keep_each_threads_order(void **state)
{
    struct producer producers[THREADS] = {{.next = 0}};

    (void)state;
    loop = cw_loop_new();
    main_mark = &thread_mark;
    calls_left = THREADS * POSTS;
    for (int i = 0; i < THREADS; i++)
        cw_thread_start(&producers[i].thread, "producer", produce, &producers[i]);
    cw_loop_run(loop);
    for (int i = 0; i < THREADS; i++) {
        cw_thread_join(&producers[i].thread);
        assert_int_equal(producers[i].next, POSTS);
    }
    cw_loop_free(loop);
}

static struct cw_timer *timers[3];
static int fired[3], turns;

static void on_once(void *arg)
{
    (void)arg;
    assert_int_equal(fired[1], 0); /* due before the other */
    fired[0]++;
}

static void on_repeat(void *arg)
{
    (void)arg;
    if (++fired[1] < 3)
        return;
    cw_timer_stop(timers[1]);
    cw_timer_start(timers[2], -1, 0);
}

static void on_last(void *arg)
{
    (void)arg;
    fired[2]++;
    cw_timer_free(timers[2]); /* in its own callback */
    cw_loop_stop(loop);
}

static void on_turn_end(void *arg)
{
    (void)arg;
    turns++;
}

static void timers_fire_in_order(void **state)
{
    (void)state;
    loop = cw_loop_new();
    cw_loop_set_iteration_end(loop, on_turn_end, NULL);
    timers[0] = cw_timer_new(loop, on_once, NULL);
    timers[1] = cw_timer_new(loop, on_repeat, NULL);
    timers[2] = cw_timer_new(loop, on_last, NULL);
    cw_timer_start(timers[1], 60000, 0);
    cw_timer_start(timers[0], 1, 0); /* before the other, whose time counts from its own start */
    cw_timer_start(timers[1], 3, 1); /* restarts */
    assert_true(cw_timer_is_active(timers[1]) && !cw_timer_is_active(timers[2]));
    cw_loop_run(loop);
    assert_int_equal(fired[0], 1);
    assert_int_equal(fired[1], 3);
    assert_int_equal(fired[2], 1);
    assert_false(cw_timer_is_active(timers[1]));
    assert_true(turns > 0 && turns <= 5); /* only turns in which something ran */
    cw_timer_free(timers[0]);
    cw_timer_free(NULL);
    cw_loop_free(loop); /* one is left behind */
}

static int gathered_n;
static bool timer_came_first;

static void on_gathered(void *arg)
{
    (void)arg;
    if (++gathered_n == 1) { /* from now on calls gather for so long that the timer comes first */
        cw_timer_start(timers[0], 1, 0);
        cw_loop_post(loop, on_gathered, NULL);
        cw_loop_post(loop, on_gathered, NULL);
    } else if (gathered_n == 3) {
        cw_loop_stop(loop);
    }
}

static void on_meanwhile(void *arg)
{
    (void)arg;
    timer_came_first = gathered_n == 1;
}

static void posts_gather(void **state)
{
    (void)state;
    gathered_n = 0;
    loop = cw_loop_new();
    timers[0] = cw_timer_new(loop, on_meanwhile, NULL);
    cw_loop_set_gather(loop, 50);
    cw_loop_post(loop, on_gathered, NULL);
    cw_loop_run(loop);
    assert_int_equal(gathered_n, 3);
    assert_true(timer_came_first);
    /* And not any more. */
    cw_loop_set_gather(loop, 0);
    gathered_n = 1;
    cw_loop_post(loop, on_gathered, NULL);
    cw_loop_post(loop, on_gathered, NULL);
    cw_loop_run(loop);
    assert_int_equal(gathered_n, 3);
    cw_loop_set_gather(loop, 50);
    cw_loop_post(loop, on_gathered, NULL); /* runs when the loop is freed */
    cw_loop_free(loop);
    assert_int_equal(gathered_n, 4);
}

/* Threads that post while calls gather. */
static void gathered_posts_keep_each_threads_order(void **state)
{
    struct producer producers[THREADS] = {{.next = 0}};

    (void)state;
    loop = cw_loop_new();
    cw_loop_set_gather(loop, 1);
    main_mark = &thread_mark;
    calls_left = THREADS * POSTS;
    for (int i = 0; i < THREADS; i++)
        cw_thread_start(&producers[i].thread, "producer", produce, &producers[i]);
    cw_loop_run(loop);
    for (int i = 0; i < THREADS; i++) {
        cw_thread_join(&producers[i].thread);
        assert_int_equal(producers[i].next, POSTS);
    }
    cw_loop_free(loop);
}

static int signalled;
static void on_signal(void *arg, int signum)
{
    signalled = signum;
    cw_loop_stop(arg);
}

static void signals_arrive_on_the_loop(void **state)
{
    struct cw_err err = {0};

    (void)state;
    loop = cw_loop_new();
    assert_int_equal(cw_loop_on_signal(loop, SIGUSR1, on_signal, loop, &err), CW_OK);
    assert_true(cw_loop_on_signal(loop, SIGKILL, on_signal, loop, &err) < 0);
    kill(getpid(), SIGUSR1);
    cw_loop_run(loop);
    assert_int_equal(signalled, SIGUSR1);
    cw_loop_free(loop);
}

static int fds[2];
static int reads;
static void on_readable(void *arg)
{
    char c;

    (void)arg;
    if (read(fds[0], &c, 1) <= 0)
        cw_loop_stop(loop); /* end of file is readable too */
    else if (++reads == 2)
        close(fds[1]);
}

static void readable_descriptors_call(void **state)
{
    struct cw_err err = {0};

    (void)state;
    loop = cw_loop_new();
    reads = 0;
    assert_int_equal(pipe(fds), 0);
    struct cw_poll *poll = cw_poll_new(loop, fds[0], on_readable, NULL, &err);
    assert_non_null(poll);
    assert_null(cw_poll_new(loop, -1, on_readable, NULL, &err));
    assert_int_equal(write(fds[1], "ab", 2), 2);
    cw_loop_run(loop);
    assert_int_equal(reads, 2);
    cw_poll_free(poll);
    cw_loop_free(loop);
    close(fds[0]);
}

static int late;
static void on_late(void *arg)
{
    if (++late == 1)
        cw_loop_post(arg, on_late, arg);
}

static void stop_before_run_and_posts_before_free(void **state)
{
    (void)state;
    loop = cw_loop_new();
    cw_loop_stop(loop);
    cw_loop_run(loop); /* returns at once */
    late = 0;
    cw_loop_post(loop, on_late, loop);
    cw_loop_free(loop);
    assert_int_equal(late, 2);
    cw_loop_free(NULL);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(posts_keep_each_threads_order),
                                          cmocka_unit_test(timers_fire_in_order),
                                          cmocka_unit_test(posts_gather),
                                          cmocka_unit_test(gathered_posts_keep_each_threads_order),
                                          cmocka_unit_test(signals_arrive_on_the_loop),
                                          cmocka_unit_test(readable_descriptors_call),
                                          cmocka_unit_test(stop_before_run_and_posts_before_free)};
CW_TESTS_MAIN(tests)
