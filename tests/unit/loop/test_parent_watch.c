/* SPDX-License-Identifier: Apache-2.0 */
/* A process notices the end of the one that started it. Each case is this test, a parent, and
 * its child; the child's standard input is a pipe. */
#include "support/cm.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/parent.h"

static int input[2], told[2]; /* pipes: the child's standard input; what the child says */

static void say(char what)
{
    if (write(told[1], &what, 1) != 1)
        _exit(9);
}

static char hear(void)
{
    char what = 0;
    assert_int_equal(read(told[0], &what, 1), 1);
    return what;
}

static void on_gone(void *arg)
{
    (void)arg;
    say('g');
    _exit(0);
}

static void be_the_child(void)
{
    struct cw_err err = {0};
    struct cw_parent_watch *watch = NULL;
    struct cw_loop *loop = cw_loop_new();
    close(input[1]);
    dup2(input[0], STDIN_FILENO);
    if (cw_parent_watch(loop, on_gone, NULL, &watch, &err) != 0)
        _exit(8);
    say('r');
    cw_loop_run(loop);
    _exit(7);
}

/* The parent only waits to be killed. It holds the pipe's other end as we do. */
static pid_t start(void)
{
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(told), 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (fork() == 0)
            be_the_child();
        for (;;)
            pause();
    }
    assert_int_equal(hear(), 'r');
    return parent;
}

static void end(pid_t parent)
{
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
}

static void close_all(void)
{
    close(input[0]);
    close(told[0]);
    close(told[1]);
}

/* The pipe stays open, here: as in a child that the parent had forked. */
static void its_end_is_seen(void **state)
{
    (void)state;
    pid_t parent = start();
    end(parent);
    assert_int_equal(hear(), 'g');
    close(input[1]);
    close_all();
}

/* The parent closes the pipe, and lives on. */
static void the_end_of_the_pipe_is_seen(void **state)
{
    (void)state;
    assert_int_equal(pipe(input), 0);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0)
        be_the_child();
    assert_int_equal(hear(), 'r');
    assert_int_equal(write(input[1], "x", 1), 1); /* is of no interest */
    close(input[1]);
    assert_int_equal(hear(), 'g');
    assert_int_equal(waitpid(child, NULL, 0), child);
    close_all();
}

static void on_gone_told(void *is_told)
{
    *(bool *)is_told = true;
}

static void stop_loop(void *arg)
{
    cw_loop_stop(arg);
}

/* Puts the descriptor in the place of our standard input; returns what was there. */
static int swap_input(int fd)
{
    int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_true(before >= 3);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    return before;
}

static void put_back(int before)
{
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    close(before);
}

static void a_file_as_input_is_an_error(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_parent_watch *watch = NULL;
    struct cw_loop *loop = cw_loop_new();
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    int before = swap_input(file);
    assert_true(cw_parent_watch(loop, stop_loop, loop, &watch, &err) < 0);
    put_back(before);
    assert_string_equal(err.msg, "cannot watch descriptor 0: Operation not permitted");
    assert_null(watch);
    /* The descriptor of the process is closed: its number is free again. */
    int next = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(next, before);
    close(next);
    close(file);
    cw_loop_free(loop);
}

/* Then its end is told by the pipe alone. */
static void a_process_that_cannot_be_watched(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_parent_watch *watch = NULL;
    struct cw_loop *loop = cw_loop_new();
    struct rlimit few, limit;
    assert_int_equal(pipe(input), 0);
    int before = swap_input(input[0]);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int rc = cw_parent_watch(loop, stop_loop, loop, &watch, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(rc, 0);
    close(input[1]);
    cw_loop_run(loop); /* until it is told */
    cw_parent_unwatch(watch);
    cw_parent_unwatch(NULL);
    put_back(before);
    close(input[0]);
    cw_loop_free(loop);
}

/* It is not told of what happens after that. */
static void who_does_not_watch_any_more(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_parent_watch *watch = NULL;
    struct cw_loop *loop = cw_loop_new();
    bool is_told = false;
    assert_int_equal(pipe(input), 0);
    int before = swap_input(input[0]);
    assert_int_equal(cw_parent_watch(loop, on_gone_told, &is_told, &watch, &err), 0);
    cw_parent_unwatch(watch);
    close(input[1]);
    put_back(before);
    cw_loop_post(loop, stop_loop, loop);
    cw_loop_run(loop);
    assert_false(is_told);
    close(input[0]);
    cw_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_end_is_seen),
        cmocka_unit_test(the_end_of_the_pipe_is_seen),
        cmocka_unit_test(a_file_as_input_is_an_error),
        cmocka_unit_test(a_process_that_cannot_be_watched),
        cmocka_unit_test(who_does_not_watch_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
