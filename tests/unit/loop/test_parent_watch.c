/* SPDX-License-Identifier: Apache-2.0 */
/* A process notices the end of the one that started it. Each case is this test, a parent, and
 * its child; the child's standard input is a pipe. */
#include "support/cm.h"

#include <signal.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_end_is_seen),
        cmocka_unit_test(the_end_of_the_pipe_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
