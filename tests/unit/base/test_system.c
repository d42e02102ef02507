/* SPDX-License-Identifier: Apache-2.0 */
/* clock, threads, log, backoff, fault points */
#include "support/cm.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/thread.h"

static void times_are_sane(void **state)
{
    int64_t before = cw_clock_ns();

    (void)state;
    cw_clock_sleep_ns(2000000);
    assert_true(cw_clock_ns() - before >= 2000000);
    cw_clock_sleep_ns(-5);
    assert_true(cw_clock_ms() > 0 && cw_clock_process_cpu_ns() > 0 && cw_clock_thread_cpu_ns() > 0);
}

struct shared {
    struct cw_mutex mutex;
    struct cw_cond cond;
    int turn; /* mutex */
};

static void take_turns(struct shared *shared, int parity)
{
    cw_mutex_lock(&shared->mutex);
    for (int i = 0; i < 200; i++) {
        while (shared->turn % 2 != parity)
            cw_cond_wait(&shared->cond, &shared->mutex);
        shared->turn++;
        cw_cond_broadcast(&shared->cond);
    }
    cw_mutex_unlock(&shared->mutex);
}

static void odd_turns(void *arg)
{
    take_turns(arg, 1);
}

static void threads_take_turns(void **state)
{
    struct shared shared = {.turn = 0};
    struct cw_thread thread = {.started = false};

    (void)state;
    cw_thread_join(&thread);
    cw_mutex_init(&shared.mutex);
    cw_cond_init(&shared.cond);
    cw_thread_start(&thread, "a name that is longer than allowed", odd_turns, &shared);
    take_turns(&shared, 0);
    cw_thread_join(&thread);
    assert_int_equal(shared.turn, 400);
    cw_mutex_lock(&shared.mutex);
    while (cw_cond_wait_until(&shared.cond, &shared.mutex, cw_clock_ns() + 1000000))
        ; /* woken for no reason */
    assert_false(cw_cond_wait_until(&shared.cond, &shared.mutex, -1));
    cw_mutex_unlock(&shared.mutex);
    cw_cond_fini(&shared.cond);
    cw_mutex_fini(&shared.mutex);
}

/* What fn writes to stderr. */
static size_t capture(void (*fn)(void), char *text, size_t cap)
{
    char path[] = "/tmp/cw_test_log_XXXXXX";
    int fd = mkstemp(path), saved = dup(STDERR_FILENO);

    assert_true(fd >= 0 && saved >= 0);
    unlink(path);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    fn();
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    ssize_t n = pread(fd, text, cap - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    return (size_t)n;
}

static void log_some(void)
{
    cw_log_info("worker", "file \"%s\"\nis %d", "a", 5);
    cw_log_debug("worker", "not shown");
}

static void log_many(void)
{
    for (int i = 0; i < 1000; i++)
        cw_log_warn("m", "again");
}

static void log_lines_are_quoted_and_limited(void **state)
{
    static char text[1 << 17];
    enum cw_log_level level = CW_LOG_INFO;
    size_t lines = 0;
    int t[7];

    (void)state;
    cw_log_set_level(CW_LOG_INFO);
    capture(log_some, text, sizeof(text));
    assert_int_equal(sscanf(text, "time=%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &t[0], &t[1], &t[2], &t[3],
                            &t[4], &t[5], &t[6]),
                     7);
    assert_true(t[0] >= 2026 && t[1] <= 12 && t[2] <= 31 && t[3] < 24 && t[4] < 60);
    assert_string_equal(text + strlen("time=2026-01-31T23:59:59.999Z "),
                        "level=info mod=worker msg=\"file \\\"a\\\" is 5\"\n");
    capture(log_many, text, sizeof(text));
    for (const char *c = text; (c = strchr(c, '\n')); c++)
        lines++;
    assert_true(lines >= 20 && lines < 1000);
    assert_true(cw_log_parse_level("debug", &level) && level == CW_LOG_DEBUG);
    assert_false(cw_log_parse_level("loud", &level));
    assert_false(cw_log_parse_level(NULL, &level));
}

static void backoff_doubles_to_its_cap(void **state)
{
    (void)state;
    for (int turn = 0; turn < 50; turn++) {
        struct cw_backoff backoff;
        int64_t mean = 50;
        cw_backoff_init(&backoff, 1000);
        for (int i = 0; i < 100; i++) {
            int64_t ms = cw_backoff_next_ms(&backoff);
            assert_true(ms >= mean / 2 && ms <= CW_MIN(mean + mean / 2, 1000));
            mean = CW_MIN(mean * 2, 1000);
        }
        cw_backoff_reset(&backoff);
        assert_true(cw_backoff_next_ms(&backoff) <= 75);
    }
}

/* The status of a child that passes the points a, b, a. */
static int status_with(const char *fault)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        if (fault)
            setenv("CACHEW_FAULT", fault, 1);
        else
            unsetenv("CACHEW_FAULT");
        cw_fault_point("a");
        cw_fault_point("b");
        cw_fault_point("a");
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void fault_points_kill_when_asked(void **state)
{
    (void)state;
    assert_int_equal(status_with(NULL), 0);
    assert_int_equal(status_with("c:1"), 0);
    assert_int_equal(status_with("a:3"), 0);
#ifdef CW_FAULTS
    assert_int_equal(WTERMSIG(status_with("a:2")), SIGKILL);
    assert_int_equal(WTERMSIG(status_with("b:1")), SIGKILL);
    assert_int_equal(WTERMSIG(status_with("any:3")), SIGKILL);
#endif
    assert_int_equal(status_with("any:4"), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(times_are_sane), cmocka_unit_test(fault_points_kill_when_asked),
    cmocka_unit_test(threads_take_turns), cmocka_unit_test(log_lines_are_quoted_and_limited),
    cmocka_unit_test(backoff_doubles_to_its_cap)};
CW_TESTS_MAIN(tests)
