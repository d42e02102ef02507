/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "loop/child.h"

#define LONG_MS 60000

static struct cw_child start(const char *script)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct cw_child child;
    struct cw_err err = {0};

    if (cw_child_start(&child, argv, NULL, 0, &err) != CW_OK)
        fail_msg("%s", err.msg);
    return child;
}

static void talks_over_pipes(void **state)
{
    struct cw_child child =
        start("echo ready; echo more; read line; echo got $line; cat >/dev/null; exit 7");
    char line[64];

    (void)state;
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    assert_string_equal(line, "ready");
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    assert_string_equal(line, "more");
    assert_int_equal(write(child.stdin_fd, "it\n", 3), 3);
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    assert_string_equal(line, "got it");
    assert_true(cw_child_is_alive(&child));
    int status = cw_child_stop(&child, LONG_MS); /* closing its input ends it */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_false(cw_child_is_alive(&child));
    assert_int_equal(cw_child_stop(&child, LONG_MS), status);
}

static void its_end_is_told(void **state)
{
    struct cw_child child = start("exit 3");
    struct cw_err err = {0};
    char line[8];

    (void)state;
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), &err),
                     CW_E_UNAVAILABLE);
    assert_string_equal(err.msg, "the process ended with status 3");
    cw_child_stop(&child, LONG_MS);
    child = start("echo a line that is longer than the buffer");
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), &err), CW_E_LIMIT);
    cw_child_stop(&child, LONG_MS);
    child = start("kill -KILL $$");
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), &err),
                     CW_E_UNAVAILABLE);
    assert_string_equal(err.msg, "the process was ended by signal 9");
    cw_child_stop(&child, LONG_MS);
    struct cw_child never = {.pid = 0};
    assert_int_equal(cw_child_stop(&never, 0), 0);
}

static void the_stubborn_are_killed(void **state)
{
    struct cw_child child = start("trap '' TERM; echo up; while :; do sleep 60; done");
    char line[8];

    (void)state;
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    assert_int_equal(cw_child_read_line(&child, 30, line, sizeof(line), NULL), CW_E_TIMEOUT);
    pid_t group = child.pid;
    cw_child_kill(&child, SIGTERM);
    int status = cw_child_stop(&child, 30);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    kill(-group, SIGKILL); /* its sleep */
}

/* Ignored and blocked signals of the parent, and its descriptors, are not handed down. */
static void starts_clean(void **state)
{
    sigset_t set, before;
    char line[64];
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0); /* not close-on-exec */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGPIPE, SIG_IGN);
    char script[256];
    snprintf(script, sizeof(script),
             "if [ -e /proc/self/fd/%d ]; then echo leak; else echo clean; fi; "
             "grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -s '\\n\\t' '  '; echo",
             fds[1]);
    struct cw_child child = start(script);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    assert_string_equal(line, "clean");
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    unsigned long long blocked = 1, ignored = 1;
    assert_int_equal(sscanf(line, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked & 1ull << (SIGTERM - 1), 0);
    assert_int_equal(ignored & 1ull << (SIGPIPE - 1), 0); /* the C library ignores two of its own */
    cw_child_stop(&child, LONG_MS);
    close(fds[0]);
    close(fds[1]);
}

static void stderr_goes_to_a_file(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo oops >&2", NULL};
    char path[] = "/tmp/cw_test_child_XXXXXX", text[16] = "";
    struct cw_child child;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(cw_child_start(&child, argv, path, 5, NULL), CW_OK);
    assert_int_equal(cw_child_stop(&child, LONG_MS), 0);
    assert_int_equal(read(fd, text, sizeof(text) - 1), 5);
    assert_string_equal(text, "oops\n");
    close(fd);
    unlink(path);
}

static void missing_programs_are_errors(void **state)
{
    static const char *const argv[] = {"/nonexistent/program", NULL};
    struct cw_child child;
    struct cw_err err = {0};

    (void)state;
    assert_int_equal(cw_child_start(&child, argv, NULL, 0, &err), CW_E_NOT_FOUND);
    assert_string_equal(err.msg, "cannot start /nonexistent/program: No such file or directory");
    assert_int_equal(child.pid, 0);
}

static size_t open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Starts a child with ever more descriptors until it can be started. Returns how often it could not:
 * the error says why, and nothing that was opened stays open. */
static int start_with_few_descriptors(void)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct rlimit before, few;
    struct cw_child child;
    size_t n = open_descriptors();
    int failures = 0, rc = -1;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (few.rlim_cur = 0; few.rlim_cur < 200; few.rlim_cur++) {
        struct cw_err err = {0};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        rc = cw_child_start(&child, argv, NULL, 0, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (rc == 0)
            break;
        failures++;
        assert_string_equal(err.msg, "cannot start /bin/true: Too many open files");
        assert_true(child.pid == 0 && child.stdin_fd < 0 && child.stdout_fd < 0);
        assert_int_equal(open_descriptors(), n);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(cw_child_stop(&child, LONG_MS), 0);
    return failures;
}

/* There may be none for the first pipe, for the second, or for one end of it. */
static void too_few_descriptors_are_an_error(void **state)
{
    (void)state;
    assert_true(start_with_few_descriptors() >= 4);
    /* A pipe's end that would be the parent's closed stdin is moved away from there. */
    int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 500);
    assert_true(input >= 500);
    close(STDIN_FILENO);
    assert_true(start_with_few_descriptors() >= 4);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(input);
}

static void a_file_for_stderr_that_cannot_be_made(void **state)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct cw_child child;
    struct cw_err err = {0};
    size_t n = open_descriptors();

    (void)state;
    assert_int_equal(cw_child_start(&child, argv, "/nonexistent/log", 0, &err), CW_E_NOT_FOUND);
    assert_string_equal(err.msg, "cannot start /bin/true: No such file or directory");
    assert_int_equal(open_descriptors(), n);
}

/* What it is told lies in its stdin before it runs, and what comes behind is not mixed with it. */
static void is_told_a_line(void **state)
{
    static const char *const argv[] = {"/bin/sh", "-c", "read a; read b; echo $a-$b", NULL};
    struct cw_child child;
    struct cw_err err = {0};
    char line[16];

    (void)state;
    assert_int_equal(cw_child_start_told(&child, argv, "secret", &err), CW_OK);
    assert_int_equal(write(child.stdin_fd, "more\n", 5), 5);
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), NULL), CW_OK);
    assert_string_equal(line, "secret-more");
    assert_int_equal(cw_child_stop(&child, LONG_MS), 0);
}

static void a_line_that_is_too_long(void **state)
{
    struct cw_child child = start("echo 0123456789; exec cat >/dev/null");
    struct cw_err err = {0};
    char line[8];

    (void)state;
    assert_int_equal(cw_child_read_line(&child, LONG_MS, line, sizeof(line), &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, "wrote a line of more than 7 bytes"));
    cw_child_stop(&child, LONG_MS);
}

/* Somebody else has waited for it, so its status is not known. A signal then goes to nobody: least
 * of all to process group 0, which is ours. */
static void who_was_waited_for_by_others(void **state)
{
    struct cw_child child = start("exit 3"), never = {0};
    int status = 0;

    (void)state;
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_int_equal(WEXITSTATUS(status), 3);
    assert_false(cw_child_is_alive(&child));
    cw_child_kill(&child, SIGKILL);
    assert_int_equal(cw_child_stop(&child, LONG_MS), 0);
    cw_child_kill(&never, SIGKILL);
    assert_int_equal(cw_child_stop(&never, LONG_MS), 0);
}

static void our_programs_are_found(void **state)
{
    char dir[] = "/tmp/cw_test_find_XXXXXX", file[64], path[4096];
    struct cw_err err = {0};

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/some-program", dir);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fclose(f);
    chmod(file, 0700);
    setenv("CACHEW_BIN_DIR", dir, 1);
    assert_int_equal(cw_child_find("some-program", path, sizeof(path), &err), CW_OK);
    assert_string_equal(path, file);
    assert_int_equal(cw_child_find("no-such-program", path, sizeof(path), &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, dir));
    char cut[16]; /* no path is cut */
    assert_int_equal(cw_child_find("some-program", cut, sizeof(cut), &err), CW_E_NOT_FOUND);
    setenv("CACHEW_BIN_DIR", "", 1); /* as if it were not set */
    assert_int_equal(cw_child_find("some-program", path, sizeof(path), &err), CW_E_NOT_FOUND);
    assert_null(strstr(err.msg, dir));
    unsetenv("CACHEW_BIN_DIR");
    /* beside this one */
    assert_int_equal(cw_child_find("test_loop_child", path, sizeof(path), &err), CW_OK);
    unlink(file);
    rmdir(dir);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(talks_over_pipes),
                                          cmocka_unit_test(its_end_is_told),
                                          cmocka_unit_test(the_stubborn_are_killed),
                                          cmocka_unit_test(starts_clean),
                                          cmocka_unit_test(stderr_goes_to_a_file),
                                          cmocka_unit_test(missing_programs_are_errors),
                                          cmocka_unit_test(too_few_descriptors_are_an_error),
                                          cmocka_unit_test(a_file_for_stderr_that_cannot_be_made),
                                          cmocka_unit_test(is_told_a_line),
                                          cmocka_unit_test(a_line_that_is_too_long),
                                          cmocka_unit_test(who_was_waited_for_by_others),
                                          cmocka_unit_test(our_programs_are_found)};
CW_TESTS_MAIN(tests)
