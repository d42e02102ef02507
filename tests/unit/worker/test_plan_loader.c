/* SPDX-License-Identifier: Apache-2.0 */
/* Preparations that take for ever: of patterns whose walk does not end, and of directories whose
 * file system hangs. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "unit/worker/fleet.h"

#define SMALL "{\"pipeline\":[{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":10}]}"

/* ---- the file system ---- */

static char folder[64], endless[128], hanging[128], walked[128];
static _Atomic size_t walks; /* of `walked` */
static ino_t endless_ino;
static _Atomic size_t reading, hung; /* threads in the one, and in the other */
static struct cw_mutex mutex = CW_MUTEX_INIT;
static struct cw_cond cond;
static bool released;

typedef DIR *opendir_fn(const char *name);
typedef struct dirent *readdir_fn(DIR *dir);
typedef int closedir_fn(DIR *dir);

static void **find(void **ret, const char *name)
{
    *ret = dlsym(RTLD_NEXT, name);
    return ret;
}
#define REAL(type, name) (*(type **)find(&(void *){NULL}, (name)))

#pragma GCC visibility push(default)

/* These stand before the C library's. */
DIR *opendir(const char *name)
{
    if (strcmp(name, hanging) == 0) {
        cw_mutex_lock(&mutex);
        atomic_fetch_add(&hung, 1);
        while (!released)
            cw_cond_wait(&cond, &mutex);
        atomic_fetch_sub(&hung, 1);
        cw_mutex_unlock(&mutex);
    }
    DIR *dir = REAL(opendir_fn, "opendir")(name);
    if (dir && strcmp(name, walked) == 0)
        atomic_fetch_add(&walks, 1);
    if (dir && strcmp(name, endless) == 0)
        atomic_fetch_add(&reading, 1);
    return dir;
}

static bool is_endless(DIR *dir)
{
    struct stat st;
    return fstat(dirfd(dir), &st) == 0 && st.st_ino == endless_ino;
}

struct dirent *readdir(DIR *dir)
{
    struct dirent *entry = REAL(readdir_fn, "readdir")(dir);
    if (entry || !is_endless(dir))
        return entry;
    rewinddir(dir);
    return REAL(readdir_fn, "readdir")(dir);
}

int closedir(DIR *dir)
{
    if (is_endless(dir))
        atomic_fetch_sub(&reading, 1);
    return REAL(closedir_fn, "closedir")(dir);
}

#pragma GCC visibility pop

static int make_folder(void **state)
{
    struct stat st;
    (void)state;
    cw_cond_init(&cond);
    snprintf(folder, sizeof(folder), "/tmp/cw_test_open_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(endless, sizeof(endless), "%s/endless", folder);
    snprintf(hanging, sizeof(hanging), "%s/hanging", folder);
    snprintf(walked, sizeof(walked), "%s/walked", folder);
    if (mkdir(endless, 0700) < 0 || mkdir(hanging, 0700) < 0 || mkdir(walked, 0700) < 0 ||
        stat(endless, &st) < 0)
        return -1;
    endless_ino = st.st_ino;
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    rmdir(endless);
    rmdir(hanging);
    rmdir(walked);
    return rmdir(folder);
}

static void release_all(void)
{
    cw_mutex_lock(&mutex);
    released = true;
    cw_cond_broadcast(&cond);
    cw_mutex_unlock(&mutex);
}

/* ---- preparations ---- */

/* Does not wait for its end. */
static void prepare(struct fleet *f, const char *job_id, const char *dir)
{
    cw_autofree char *json = cw_mem_printf("{\"pipeline\":[{\"op\":\"files\",\"pattern\":\"%s/*/"
                                           "nothing\"},{\"op\":\"batch\",\"size\":2}]}",
                                           dir);
    cw_autofree char *id = cw_mem_strdup(job_id);
    Cachew__V1__Prepare prepare = CACHEW__V1__PREPARE__INIT;
    Cachew__V1__WorkerCommand m = CACHEW__V1__WORKER_COMMAND__INIT;
    prepare.job_id = id;
    prepare.graph = graph_message(json);
    prepare.seed = 1;
    m.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PREPARE;
    m.prepare = &prepare;
    fleet_send(f, &m);
    cw_wire_graph_free(prepare.graph);
}

static void prepare_many(struct fleet *f, const char *dir, int n)
{
    for (int i = 0; i < n; i++) {
        char id[32];
        snprintf(id, sizeof(id), "job%d", i);
        prepare(f, id, dir);
    }
}

static void forget_many(struct fleet *f, int n)
{
    for (int i = 0; i < n; i++) {
        char id[32];
        snprintf(id, sizeof(id), "job%d", i);
        fleet_forget(f, id);
    }
}

enum { MANY = 12 };

static void small_one_is_prepared(struct fleet *f)
{
    fleet_prepare(f, "small", SMALL);
    assert_int_equal(f->prepared_code, 0);
    assert_int_equal(f->items, 10);
}

/* Also while they are wanted: they are slow, and that is all. */
static void slow_ones_hold_up_no_other(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    prepare_many(&f, endless, MANY);
    small_one_is_prepared(&f);
    fleet_wait(&f, atomic_load(&reading) == MANY);
    assert_int_equal(f.prepared, 1);
    fleet_down(&f);
    assert_int_equal(atomic_load(&reading), 0);
}

static void those_of_nobody_end(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    prepare_many(&f, endless, MANY);
    fleet_wait(&f, atomic_load(&reading) > 0);
    forget_many(&f, MANY);
    fleet_wait(&f, atomic_load(&reading) == 0);
    small_one_is_prepared(&f);
    assert_int_equal(atomic_load(&reading), 0);
    assert_int_equal(f.prepared, 1); /* nothing was said of the others */
    /* Their threads end a moment after they have read for the last time. */
    fleet_wait(&f, !cw_worker_is_opening(f.worker));
    fleet_down(&f);
}

/* An opening by a job's manifest is one as well, and so is what a thread of items waits for; a
 * preparation that is asked for again goes on. */
static void asked_for_again(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    prepare(&f, "job", endless);
    fleet_wait(&f, atomic_load(&reading) == 1);
    size_t hellos = f.hellos;
    cw_stream_free(f.stream);
    f.stream = NULL;
    fleet_wait(&f, f.hellos > hellos && f.stream);
    prepare(&f, "job", endless);
    small_one_is_prepared(&f); /* so that it was read */
    assert_int_equal(atomic_load(&reading), 1);
    fleet_forget(&f, "job");
    fleet_wait(&f, atomic_load(&reading) == 0);
    fleet_down(&f);
}

/* What hangs cannot be ended. It is left to itself, holds up nobody, and is not waited for by
 * who leaves. */
static void those_that_hang(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    prepare_many(&f, hanging, MANY);
    fleet_wait(&f, atomic_load(&hung) == MANY);
    forget_many(&f, MANY);
    small_one_is_prepared(&f);
    assert_int_equal(atomic_load(&hung), MANY);
    assert_true(cw_worker_is_opening(f.worker));
    assert_int_equal(f.prepared, 1);
    release_all();
    fleet_wait(&f, !cw_worker_is_opening(f.worker));
    assert_int_equal(f.prepared, 1);
    fleet_down(&f);
}

/* ---- relaxed orders ---- */

#define RANGE "{\"op\":\"range\",\"stop\":300},"
#define BATCH ",{\"op\":\"batch\",\"size\":10}"
#define BURN(name) "{\"op\":\"burn\",\"name\":\"" name "\",\"ms\":0.001}"
#define LARGE "{\"op\":\"inflate\",\"factor\":1048576}," /* 8 MiB */
#define SLEEP(name) "{\"op\":\"sleep\",\"name\":\"" name "\",\"ms\":60000}"
#define EVAL(name, expr) "{\"op\":\"eval\",\"name\":\"" name "\",\"expr\":\"" expr "\"}"

/* Does not wait for its end. */
static void ask_relaxed(struct fleet *f, const char *source, const char *first, const char *second)
{
    static char id[] = "relaxed";
    cw_autofree char *relaxed =
        cw_mem_printf("{\"pipeline\":[%s%s,%s" BATCH "]}", source, second, first);
    cw_autofree char *written =
        cw_mem_printf("{\"pipeline\":[%s%s,%s" BATCH "]}", source, first, second);
    Cachew__V1__Prepare prepare = CACHEW__V1__PREPARE__INIT;
    Cachew__V1__WorkerCommand m = CACHEW__V1__WORKER_COMMAND__INIT;
    prepare.job_id = id;
    prepare.graph = graph_message(relaxed);
    prepare.written = graph_message(written);
    prepare.seed = 1;
    m.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_PREPARE;
    m.prepare = &prepare;
    fleet_send(f, &m);
    cw_wire_graph_free(prepare.graph);
    cw_wire_graph_free(prepare.written);
}

static void prepare_relaxed_of(struct fleet *f, const char *source, const char *first,
                               const char *second)
{
    const size_t before = f->prepared;
    ask_relaxed(f, source, first, second);
    fleet_wait(f, f->prepared > before);
    if (f->prepared_code != 0)
        fail_msg("%s", f->prepared_error);
}

static void prepare_relaxed(struct fleet *f, const char *first, const char *second)
{
    prepare_relaxed_of(f, RANGE, first, second);
}

static uint64_t fingerprint_of(const struct fleet *f)
{
    return f->info->fingerprint_hi ^ f->info->fingerprint_lo;
}

/* A few elements are computed both ways. Where the relaxed order fails, the written one is prepared. */
static void relaxed_orders_are_tried(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    prepare_relaxed(&f, EVAL("a", "x + 1"), EVAL("b", "x * 2"));
    assert_false(f.relaxed_refused);
    assert_string_equal(f.relaxed, "field \"x\": mean absolute difference 1, PSNR 29.5 dB\n");
    fleet_prepare(&f, "written",
                  "{\"pipeline\":[" RANGE EVAL("a", "x * 0 + 1") "," EVAL("b", "100 % x") BATCH
                  "]}");
    assert_string_equal(f.relaxed, "");
    const uint64_t written = fingerprint_of(&f);
    prepare_relaxed(&f, EVAL("a", "x * 0 + 1"), EVAL("b", "100 % x"));
    assert_true(f.relaxed_refused && fingerprint_of(&f) == written);
    assert_non_null(strstr(f.relaxed, "is not used: an element cannot be computed that can be"));
    fleet_down(&f);
}

/* The sources are those of the plan that is prepared. */
static void trials_open_no_source(void **state)
{
    struct fleet f;
    char path[160];
    (void)state;
    snprintf(path, sizeof(path), "%s/a.bin", walked);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    cw_autofree char *source =
        cw_mem_printf("{\"op\":\"files\",\"pattern\":\"%s/*.bin\"},", walked);
    cw_autofree char *plain =
        cw_mem_printf("{\"pipeline\":[%s" BURN("b") "," BURN("a") BATCH "]}", source);
    fleet_up(&f, NULL);
    fleet_prepare(&f, "plain", plain);
    assert_int_equal(f.prepared_code, 0);
    const size_t once = atomic_load(&walks);
    assert_true(once > 0);
    prepare_relaxed_of(&f, source, BURN("a"), BURN("b"));
    assert_false(f.relaxed_refused);
    assert_non_null(strstr(f.relaxed, "0 of 1 strings differ"));
    assert_int_equal(atomic_load(&walks), 2 * once);
    fleet_down(&f);
    remove(path);
}

/* Each of the elements would take a minute. */
static void trials_of_nobody_end(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    ask_relaxed(&f, RANGE, SLEEP("a"), SLEEP("b"));
    small_one_is_prepared(&f); /* so that it was read */
    fleet_forget(&f, "relaxed");
    fleet_wait(&f, !cw_worker_is_opening(f.worker));
    assert_int_equal(f.prepared, 1);
    fleet_down(&f);
}

/* The first element, or the first 20, are bad in the written order only; what is kept of the others has room all the
 * same. */
static void trials_pass_over_what_was_bad(void **state)
{
    struct fleet f;
    (void)state;
    fleet_up(&f, NULL);
    prepare_relaxed(&f, EVAL("a", "100 % x"), EVAL("b", "x + 1"));
    assert_false(f.relaxed_refused);
    prepare_relaxed(&f, EVAL("a", "100 % max(x - 19, 0)"), EVAL("b", "x + 20"));
    assert_false(f.relaxed_refused);
    prepare_relaxed_of(&f, RANGE LARGE, EVAL("a", "100 % x"), EVAL("b", "x + 1"));
    if (f.relaxed_refused)
        fail_msg("%s", f.relaxed);
    fleet_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_ones_hold_up_no_other),
        cmocka_unit_test(those_of_nobody_end),
        cmocka_unit_test(asked_for_again),
        cmocka_unit_test(those_that_hang),
        cmocka_unit_test(relaxed_orders_are_tried),
        cmocka_unit_test(trials_open_no_source),
        cmocka_unit_test(trials_of_nobody_end),
        cmocka_unit_test(trials_pass_over_what_was_bad),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
