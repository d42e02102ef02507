/* SPDX-License-Identifier: Apache-2.0 */
/* Children of a process that has connected, as a forking loader has them: they connect for
 * themselves, while their parent's jobs go on. */
#include "support/cm.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/mem.h"
#include "cachew/cachew.h"
#include "client/model/client.h"
#include "client/embedded/embedded_cluster.h"

#define WAIT_MS 120000
#define CHILDREN 3

static const char dense[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 1000}, {\"op\": "
                            "\"shuffle\"}, {\"op\": \"batch\", \"size\": 7}]}";

static struct cachew_client *parent;
static struct cachew_error error;
static uint64_t want; /* what a whole epoch sums up to */

static bool ok(int rc, const char *what)
{
    if (rc < 0)
        fprintf(stderr, "process %d: %s: %d %s\n", (int)getpid(), what, rc, error.message);
    return rc >= 0;
}

static struct cachew_job *start(struct cachew_client *client,
                                const struct cachew_job_options *options)
{
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    if (ok(cachew_pipeline_parse(dense, strlen(dense), &pipeline, &error), "parse"))
        ok(cachew_job_start(client, pipeline, options, &job, &error), "start");
    cachew_pipeline_release(pipeline);
    return job;
}

/* The next batch into the sum; false at the end, or when something failed (then the sum is
 * wrong). */
static bool step(struct cachew_job *job, uint64_t *sum)
{
    struct cachew_batch *batch = NULL;
    struct cachew_tensor tensor;
    int rc = cachew_job_next(job, WAIT_MS, &batch, &error);
    if (!ok(rc, "next"))
        *sum = 0;
    if (rc != 1)
        return false;
    cachew_batch_tensor(batch, 0, &tensor);
    *sum = cw_mix64(*sum ^ cw_hash_u64(tensor.data, tensor.bytes) ^ cachew_batch_number(batch));
    cachew_batch_release(batch);
    return true;
}

static uint64_t run_all(struct cachew_job *job)
{
    uint64_t sum = 1;
    while (job && step(job, &sum)) {
    }
    cachew_job_close(job);
    return sum;
}

static int on_setup(void **state)
{
    (void)state;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    options.local_workers = 2;
    options.local_threads = 1;
    options.timeout_ms = WAIT_MS;
    assert_true(ok(cachew_connect("local:", &options, &parent, &error), "connect"));
    want = run_all(start(parent, NULL));
    return 0;
}

static int on_teardown(void **state)
{
    (void)state;
    cachew_disconnect(parent);
    return 0;
}

/* In a child: what it gets by a connection of its own is what anybody gets. */
static bool child_runs(bool no_shared_memory)
{
    struct cachew_client *client = NULL;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    options.timeout_ms = WAIT_MS;
    options.no_shared_memory = no_shared_memory;
    if (!ok(cachew_connect(cw_embedded_cluster_address(parent->cluster), &options, &client, &error),
            "connect"))
        return false;
    uint64_t sum = run_all(start(client, NULL));
    cachew_disconnect(client);
    return sum == want;
}

static bool parents_objects_are_refused(struct cachew_job *job)
{
    struct cachew_batch *batch = NULL;
    struct cachew_job *other = NULL;
    struct cachew_pipeline *pipeline = NULL;
    cachew_pipeline_parse(dense, strlen(dense), &pipeline, &error);
    bool refused = cachew_job_next(job, -1, &batch, &error) == CACHEW_E_STATE &&
                   cachew_job_start(parent, pipeline, NULL, &other, &error) == CACHEW_E_STATE;
    cachew_job_close(job);
    cachew_disconnect(parent);
    cachew_pipeline_release(pipeline);
    return refused;
}

static void assert_well(pid_t pid)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Some at once, ending in either way, one without shared memory, while the parent's own job is
 * in the middle. */
static void children_connect(void **state)
{
    (void)state;
    struct cachew_job *job = start(parent, NULL);
    pid_t pids[CHILDREN];
    uint64_t sum = 1;
    assert_non_null(job);
    for (int i = 0; i < CHILDREN; i++) {
        for (int k = 0; k < 10; k++)
            assert_true(step(job, &sum));
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            int status = parents_objects_are_refused(job) && child_runs(i == 0) ? 0 : 1;
            if (i == 1)
                exit(status);
            _exit(status);
        }
    }
    while (step(job, &sum)) {
    }
    cachew_job_close(job);
    assert_true(sum == want);
    for (int i = 0; i < CHILDREN; i++)
        assert_well(pids[i]);
}

/* A child that goes away in the middle leaves nothing, and its child can do as it did. */
static void grandchildren_connect(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cachew_client *client = NULL;
        uint64_t sum = 1;
        bool well =
            ok(cachew_connect(cw_embedded_cluster_address(parent->cluster), NULL, &client, &error),
               "connect");
        struct cachew_job *job = well ? start(client, NULL) : NULL;
        pid_t inner = job && step(job, &sum) ? fork() : -1;
        if (inner == 0)
            _exit(cachew_job_next(job, -1, &(struct cachew_batch *){NULL}, &error) ==
                              CACHEW_E_STATE &&
                          child_runs(false)
                      ? 0
                      : 1);
        int status = -1;
        well = inner > 0 && waitpid(inner, &status, 0) == inner && status == 0;
        _exit(well ? 0 : 1); /* its job and connection are open */
    }
    assert_well(pid);
}

/* "local:" in a child: daemons of its own. */
static void child_has_its_own_daemons(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cachew_client *client = NULL;
        struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
        options.local_threads = 1;
        options.timeout_ms = WAIT_MS;
        bool well = ok(cachew_connect("local:", &options, &client, &error), "connect") &&
                    run_all(start(client, NULL)) == want;
        cachew_disconnect(client);
        _exit(well ? 0 : 1);
    }
    assert_well(pid);
}

/* A cachew-relay of this text, which cannot speak for the child: told at once, with a message
 * that has the word. */
static void with_relay(const char *text, const char *word)
{
    char dir[] = "/tmp/test_fork_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/cachew-relay", dir);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fchmod(fileno(file), 0755), 0);
    assert_int_equal(fclose(file), 0);
    const char *address = cw_embedded_cluster_address(parent->cluster);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cachew_client *client = NULL;
        struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
        options.timeout_ms = 24 * 3600 * 1000;
        setenv("CACHEW_BIN_DIR", dir, 1);
        int rc = cachew_connect(address, &options, &client, &error);
        bool well = rc == CACHEW_E_STATE && strstr(error.message, "cachew-relay") &&
                    strstr(error.message, word);
        if (!well)
            fprintf(stderr, "%d %s\n", rc, error.message);
        _exit(well ? 0 : 1);
    }
    assert_well(pid);
    unlink(path);
    rmdir(dir);
}

static void child_without_a_relay(void **state)
{
    (void)state;
    with_relay("#!/nowhere/at/all\n", "spawn");
    with_relay("#!/bin/sh\nexit 2\n", "version");
}

static pid_t relay_of(pid_t parent_pid)
{
    DIR *list = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; list && !found && (entry = readdir(list)) != NULL;) {
        char path[300], comm[64] = "";
        int pid = 0, of = 0;
        snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%d (%63[^)]) %*c %d", &pid, comm, &of) == 3 && of == parent_pid &&
            strcmp(comm, "cachew-relay") == 0)
            found = pid;
        if (file)
            fclose(file);
    }
    closedir(list);
    return found;
}

/* In a child whose relay is killed again and again: the job goes on by another, and nothing is
 * lost or repeated. */
static bool runs_through_kills(void)
{
    struct cachew_client *client = NULL;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    options.timeout_ms = WAIT_MS;
    options.no_shared_memory = 1;
    uint64_t sum = 1;
    struct cachew_job_options few = CACHEW_JOB_OPTIONS_INIT;
    few.window = 4; /* so that most of it is still to come */
    if (!ok(cachew_connect(cw_embedded_cluster_address(parent->cluster), &options, &client, &error),
            "connect"))
        return false;
    struct cachew_job *job = start(client, &few);
    bool well = job != NULL;
    for (int i = 0; well && step(job, &sum); i++)
        if (i % 30 == 10) {
            pid_t relay = relay_of(getpid());
            well = relay > 0 && kill(relay, SIGKILL) == 0;
        }
    struct cachew_job_stats stats = {.struct_size = sizeof(stats)};
    well = well && cachew_job_stats(job, &stats) == 0 && stats.reconnects > 0;
    cachew_job_close(job);
    cachew_disconnect(client);
    return well && sum == want && relay_of(getpid()) == 0;
}

static void relay_is_killed(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(runs_through_kills() ? 0 : 1);
    assert_well(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_connect),          cmocka_unit_test(grandchildren_connect),
        cmocka_unit_test(child_has_its_own_daemons), cmocka_unit_test(child_without_a_relay),
        cmocka_unit_test(relay_is_killed),
    };
    return cmocka_run_group_tests_name("client_fork", tests, on_setup, on_teardown);
}
