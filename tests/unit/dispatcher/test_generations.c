/* SPDX-License-Identifier: Apache-2.0 */
/* Folders generation-N of dispatchers with a lease: who takes over has all that was answered, and who
 * is late learns of it before it answers anything, whatever it was doing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "dispatcher/state/generation_folders.h"
#include "dispatcher/state/network_file_system.h"
#include "dispatcher/state/state_copy.h"
#include "dispatcher/state/state_int.h"

static char *dir;
static unsigned long f_type; /* what statfs says; 0: the truth */

int __real_statfs(const char *path, struct statfs *ret);
int __wrap_statfs(const char *path, struct statfs *ret);
int __wrap_statfs(const char *path, struct statfs *ret)
{
    int rc = __real_statfs(path, ret);
    if (f_type != 0)
        ret->f_type = (__fsword_t)f_type;
    return rc;
}

static int run(const char *program, const char *a, const char *b)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execlp(program, program, a, b, (char *)NULL);
        _exit(127);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

static int setup(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    dir = cw_mem_printf("%s/cachew-generations-XXXXXX", tmp ? tmp : "/tmp");
    f_type = 0;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    int rc = run("rm", "-rf", dir);
    cw_mem_free(dir);
    return rc;
}

static struct cw_state *take_over(void)
{
    struct cw_state *state = NULL;
    struct cw_err err = {0};
    if (cw_state_open_generation(dir, 0, &state, &err) != 0)
        fail_msg("%s", err.msg);
    return state;
}

static void put(struct cw_state *state, const char *id)
{
    const struct cw_state_job job = {
        .id = id, .name = "", .status = CW_JOB_RUNNING, .error = "", .created_ms = 7};
    cw_state_put_job(state, &job);
}

static void store(struct cw_state *state, const char *id)
{
    struct cw_err err = {0};
    put(state, id);
    if (cw_state_commit(state, &err) != 0)
        fail_msg("%s", err.msg);
}

static void store_too_late(struct cw_state *state, const char *id)
{
    struct cw_err err = {0};
    put(state, id);
    assert_int_equal(cw_state_commit(state, &err), CW_E_STATE);
    assert_true(cw_state_is_over(state));
}

static int on_job(void *arg, const struct cw_state_job *job, struct cw_err *err)
{
    (void)err;
    cw_str_addf(arg, "%s ", job->id);
    return 0;
}

static void assert_jobs(struct cw_state *state, const char *expected)
{
    const struct cw_state_reader reader = {.job = on_job};
    CW_STR_AUTO seen = {0};
    assert_int_equal(cw_state_load(state, &reader, &seen, NULL), 0);
    assert_string_equal(cw_str_text(&seen), expected);
}

static bool has_folder(uint64_t number)
{
    cw_autofree char *path = cw_generation_path(dir, number);
    return access(path, F_OK) == 0;
}

static void each_takes_over_what_the_one_before_has_stored(void **unused)
{
    (void)unused;
    struct cw_state *first = take_over();
    uint64_t told = cw_state_generation(first);
    assert_int_equal(cw_state_folder(first), 1);
    store(first, "a");
    cw_state_close(first);
    struct cw_state *second = take_over();
    assert_int_equal(cw_state_folder(second), 2);
    assert_true(cw_state_generation(second) > told);
    store(second, "b");
    assert_jobs(second, "a b ");
    assert_true(has_folder(1));
    cw_state_close(second);
    struct cw_state *third = take_over();
    assert_jobs(third, "a b ");
    assert_false(has_folder(1));
    assert_true(has_folder(2) && has_folder(3));
    assert_false(cw_state_is_over(third));
    cw_state_close(third);
}

/* The late one was stopped with a transaction open, and commits it when the next one serves. */
static void a_transaction_that_was_open_is_not_the_successors(void **unused)
{
    (void)unused;
    struct cw_state *late = take_over();
    store(late, "a");
    assert_int_equal(
        sqlite3_exec(late->db, "BEGIN IMMEDIATE; UPDATE jobs SET created_ms = 8; DELETE FROM jobs",
                     NULL, NULL, NULL),
        SQLITE_OK);
    struct cw_state *next = take_over();
    store(next, "b");
    assert_int_equal(sqlite3_exec(late->db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_false(cw_state_is_over(late)); /* nobody has looked */
    store_too_late(late, "c");
    for (int i = 0; i < 50; i++) {
        cw_autofree char *id = cw_mem_printf("c%d", i);
        store_too_late(late, id);
    }
    assert_int_equal(
        sqlite3_wal_checkpoint_v2(late->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL),
        SQLITE_OK);
    store(next, "d");
    assert_false(cw_state_is_over(next));
    assert_jobs(next, "a b d ");
    cw_state_close(next);
    cw_state_close(late);
    struct cw_state *last = take_over();
    assert_jobs(last, "a b d ");
    cw_state_close(last);
}

/* What was committed just before somebody took over may have been answered, so it is there; what
 * came after it was not answered. */
static void a_commit_before_the_takeover_is_there(void **unused)
{
    (void)unused;
    struct cw_state *late = take_over();
    store(late, "a");
    assert_false(cw_state_is_over(late));
    struct cw_state *next = take_over();
    assert_jobs(next, "a ");
    store_too_late(late, "b");
    assert_jobs(next, "a ");
    cw_state_close(late);
    cw_state_close(next);
}

/* Whoever took over and did not get to the end is passed over, also when he goes on later. */
static void a_takeover_that_was_cut_short_is_no_source(void **unused)
{
    (void)unused;
    struct cw_err err = {0};
    struct cw_generation cut = {0};
    struct cw_state *first = take_over();
    store(first, "a");
    cw_state_close(first);
    assert_int_equal(cw_generation_begin(dir, &cut, &err), 0);
    assert_int_equal(cut.number, 2);
    assert_int_equal(cut.source, 1);
    struct cw_state *third = take_over();
    assert_int_equal(cw_state_folder(third), 3);
    store(third, "b");
    assert_int_equal(cw_generation_complete(dir, &cut, 5, &err), CW_E_STATE);
    assert_non_null(strstr(err.msg, "generation-3"));
    cw_state_close(third);
    struct cw_state *last = take_over();
    assert_jobs(last, "a b ");
    cw_state_close(last);
    cw_mem_free(cut.dir);
}

/* A state of dispatchers without a lease is gone on with, once it is not in use any more; and then
 * these are refused. */
static void a_state_without_a_lease_is_gone_on_with(void **unused)
{
    (void)unused;
    struct cw_err err = {0};
    struct cw_state *plain = NULL, *next = NULL;
    assert_int_equal(cw_state_open(dir, 0, &plain, &err), 0);
    store(plain, "a");
    pid_t child = fork(); /* flock is the open file's: one process could have it twice */
    if (child == 0)
        _exit(cw_state_open_generation(dir, 0, &next, &err) == CW_E_STATE &&
                      strstr(err.msg, "without --lease")
                  ? 0
                  : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    uint64_t told = cw_state_generation(plain);
    cw_state_close(plain);
    next = take_over();
    assert_jobs(next, "a ");
    assert_true(cw_state_generation(next) > told);
    cw_state_close(next);
    assert_int_equal(cw_state_open(dir, 0, &plain, &err), CW_E_STATE);
    assert_non_null(strstr(err.msg, "--lease"));
}

static void who_has_no_folder_any_more_is_late(void **unused)
{
    (void)unused;
    struct cw_err err = {0};
    struct cw_state *late = take_over();
    cw_autofree char *own = cw_generation_path(dir, 1), *moved = cw_mem_printf("%s/moved", dir);
    assert_int_equal(cw_generation_look(dir, 1, &err), CW_GENERATION_OWN);
    assert_int_equal(rename(own, moved), 0);
    assert_int_equal(cw_generation_look(dir, 1, &err), CW_GENERATION_OVER);
    store_too_late(late, "a");
    cw_state_close(late);
    assert_int_equal(cw_generation_look("/nowhere", 1, &err), CW_GENERATION_UNKNOWN);
}

static void a_lost_state_is_not_begun_anew(void **unused)
{
    (void)unused;
    struct cw_err err = {0};
    struct cw_state *state = take_over();
    cw_state_close(state);
    cw_autofree char *own = cw_generation_path(dir, 1), *db = cw_mem_printf("%s/state.db", own);
    assert_int_equal(unlink(db), 0);
    assert_int_equal(cw_state_open_generation(dir, 0, &state, &err), CW_E_CORRUPT);
    assert_non_null(strstr(err.msg, "missing"));
}

/* ---- copies of files that somebody writes ---- */

/* Two tables that are always changed together, with checkpoints at any moment. */
static void write_for_ever(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none") ||
        sqlite3_exec(db,
                     "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA "
                     "synchronous=OFF; PRAGMA wal_autocheckpoint=3;"
                     "CREATE TABLE a(n INTEGER, t TEXT); CREATE TABLE b(n INTEGER, t TEXT);",
                     NULL, NULL, NULL))
        _exit(1);
    for (int i = 0;; i++) {
        if (sqlite3_exec(db,
                         "BEGIN; INSERT INTO a SELECT count(*), hex(randomblob(900)) FROM a;"
                         "INSERT INTO b SELECT count(*), hex(randomblob(900)) FROM b;"
                         "DELETE FROM a WHERE n % 7 = 3; DELETE FROM b WHERE n % 7 = 3; COMMIT",
                         NULL, NULL, NULL))
            _exit(2);
        if (i % 8 == 7)
            cw_clock_sleep_ns(30000000);
    }
}

static int64_t ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static void assert_whole(const char *folder)
{
    cw_autofree char *path = cw_mem_printf("%s/state.db", folder);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(ask(db, "SELECT quick_check = 'ok' FROM pragma_quick_check"), 1);
    assert_int_equal(ask(db, "SELECT (SELECT count(*) FROM a) = (SELECT count(*) FROM b)"), 1);
    sqlite3_close(db);
}

static void a_copy_of_what_is_written_is_of_one_moment(void **unused)
{
    (void)unused;
    cw_autofree char *from = cw_mem_printf("%s/from", dir),
                     *path = cw_mem_printf("%s/state.db", from);
    assert_int_equal(mkdir(from, 0700), 0);
    pid_t child = fork();
    if (child == 0)
        write_for_ever(path);
    cw_autofree char *log = cw_mem_printf("%s-wal", path);
    while (access(log, F_OK) != 0)
        cw_clock_sleep_ns(1000000);
    int copies = 0;
    for (int i = 0; i < 20; i++) {
        struct cw_err err = {0};
        cw_autofree char *to = cw_mem_printf("%s/to%d", dir, i);
        assert_int_equal(mkdir(to, 0700), 0);
        if (i == 19) /* The last one is of a writer that stands still, wherever it is. */
            assert_int_equal(kill(child, SIGSTOP), 0);
        int rc = cw_state_copy_files(from, to, &err);
        assert_true(rc == 0 || rc == CW_E_AGAIN);
        if (rc == 0 && i > 0)
            assert_whole(to);
        copies += rc == 0;
    }
    assert_true(copies > 0);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- the copy that an administrator asks for, and reading beside the writer ---- */

static int64_t jobs_in(int fd)
{
    cw_autofree char *from = cw_mem_printf("/proc/%d/fd/%d", (int)getpid(), fd);
    cw_autofree char *to = cw_mem_printf("%s/copied", dir);
    sqlite3 *db = NULL;
    assert_int_equal(run("cp", from, to), 0);
    assert_int_equal(sqlite3_open(to, &db), SQLITE_OK);
    int64_t n = ask(db, "SELECT count(*) FROM jobs");
    sqlite3_close(db);
    return n;
}

static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    (void)row, (void)err;
    ++*(int *)arg;
    return 0;
}

static void one_connection_is_enough_for_all(void **unused)
{
    (void)unused;
    struct cw_state *state = take_over();
    atomic_int stop = 0;
    int fd = -1, decisions = 0;
    const struct cw_state_decision decision = {.job = "j0",
                                               .name = "",
                                               .kind = "autoscale",
                                               .policy = "p",
                                               .choice = "",
                                               .reason = "r",
                                               .candidates = "",
                                               .inputs = "{}"};
    for (int i = 0; i < 200; i++) {
        cw_autofree char *id = cw_mem_printf("j%03d", i);
        put(state, id);
    }
    cw_state_put_decision(state, &decision, 10, 10);
    (void)cw_state_submit(state); /* The thread may write while the copy begins. */
    assert_int_equal(cw_state_backup(state, &stop, &fd, NULL), 0);
    close(fd);
    assert_int_equal(cw_state_commit(state, NULL), 0);
    assert_int_equal(cw_state_backup(state, &stop, &fd, NULL), 0);
    assert_int_equal(jobs_in(fd), 200);
    close(fd);
    const struct cw_state_decision_query query = {.limit = 10};
    assert_int_equal(cw_state_find_decisions(state, &query, on_decision, &decisions, NULL), 0);
    assert_int_equal(decisions, 1);
    stop = 1;
    assert_int_not_equal(cw_state_backup(state, &stop, &fd, NULL), 0);
    cw_state_close(state);
}

/* ---- network file systems ---- */

static void a_network_file_system_needs_a_lease(void **unused)
{
    (void)unused;
    static const struct {
        unsigned long type;
        const char *name;
    } them[] = {{0x6969, "NFS"}, {0xff534d42, "CIFS"}, {0x65735546, "FUSE"}, {0x00c36400, "Ceph"}};
    struct cw_state *state = NULL;
    for (size_t i = 0; i < CW_ARRAY_LEN(them); i++) {
        struct cw_err err = {0};
        f_type = them[i].type;
        assert_int_equal(cw_state_open(dir, 0, &state, &err), CW_E_UNSUPPORTED);
        assert_non_null(strstr(err.msg, them[i].name));
        assert_non_null(strstr(err.msg, "--lease"));
    }
    state = take_over();
    cw_state_close(state);
    assert_null(cw_state_network_file_system(0xef53));     /* ext4 */
    assert_null(cw_state_network_file_system(0x01021994)); /* tmpfs */
    assert_null(cw_state_network_file_system(0x794c7630)); /* overlayfs */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_takes_over_what_the_one_before_has_stored, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_transaction_that_was_open_is_not_the_successors, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_commit_before_the_takeover_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(a_takeover_that_was_cut_short_is_no_source, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_state_without_a_lease_is_gone_on_with, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_no_folder_any_more_is_late, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_state_is_not_begun_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_copy_of_what_is_written_is_of_one_moment, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_connection_is_enough_for_all, setup, teardown),
        cmocka_unit_test_setup_teardown(a_network_file_system_needs_a_lease, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
