/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows of libcachew what is public, and loads its data as forking loaders do:
 * fork_loader ADDRESS FILE. It connects and is in the middle of a job of its own when it forks
 * children; each is a consumer of one named job, prints the numbers of its batches, and ends in
 * its own way. */
#include <cachew/cachew.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3
#define WAIT_MS 120000

static struct cachew_error error = CACHEW_ERROR_INIT;
static const struct cachew_pipeline *pipeline;

static struct cachew_job *start(const char *address, const struct cachew_job_options *job_options,
                                struct cachew_client **ret_client)
{
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_job *job = NULL;
    options.timeout_ms = WAIT_MS;
    if (cachew_connect(address, &options, ret_client, &error) < 0 ||
        cachew_job_start(*ret_client, pipeline, job_options, &job, &error) < 0)
        fprintf(stderr, "process %d: %s\n", (int)getpid(), error.message);
    return job;
}

static int consume(struct cachew_job *job, uint64_t at_most, int print)
{
    struct cachew_batch *batch = NULL;
    int rc = 0;
    for (uint64_t i = 0; i < at_most && (rc = cachew_job_next(job, WAIT_MS, &batch, &error)) == 1;
         i++) {
        if (print)
            dprintf(STDOUT_FILENO, "%llu\n", (unsigned long long)cachew_batch_number(batch));
        cachew_batch_release(batch);
    }
    if (rc < 0)
        fprintf(stderr, "process %d: %s\n", (int)getpid(), error.message);
    return rc;
}

static int child(const char *address, unsigned number)
{
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_client *client = NULL;
    options.name = "loader";
    options.mode = CACHEW_COORDINATED;
    options.consumers = CHILDREN;
    options.consumer = number;
    struct cachew_job *job = start(address, &options, &client);
    if (!job || consume(job, UINT64_MAX, 1) < 0)
        return 1;
    cachew_job_close(job);
    cachew_disconnect(client);
    return 0;
}

int main(int argc, char **argv)
{
    struct cachew_pipeline *loaded = NULL;
    struct cachew_client *client = NULL;
    pid_t pids[CHILDREN];
    int bad = 0, status;
    if (argc != 3 || cachew_pipeline_load(argv[2], &loaded, &error) < 0)
        return fprintf(stderr, "%s\n", error.message), 2;
    pipeline = loaded;
    struct cachew_job *job = start(argv[1], NULL, &client);
    if (!job || consume(job, 5, 0) < 0)
        return 1;
    for (unsigned i = 0; i < CHILDREN; i++)
        if ((pids[i] = fork()) == 0) {
            int code = child(argv[1], i);
            if (i == 0)
                exit(code);
            _exit(code);
        }
    bad |= consume(job, UINT64_MAX, 0) < 0;
    for (int i = 0; i < CHILDREN; i++)
        bad |= waitpid(pids[i], &status, 0) != pids[i] || status != 0;
    cachew_job_close(job);
    cachew_disconnect(client);
    cachew_pipeline_release(loaded);
    return bad;
}
