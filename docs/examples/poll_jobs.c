/* SPDX-License-Identifier: Apache-2.0 */
/* One thread and several jobs: poll(2) says which of them has a batch. A program with an event loop
 * (libuv: uv_poll_init, GLib: g_unix_fd_add, epoll) gives it the same descriptors.
 *
 *     poll_jobs DISPATCHER FILE.json...
 *
 * Compile it with `cc poll_jobs.c $(pkg-config --cflags --libs cachew)`. */
#include <cachew/cachew.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS_MAX = 16 };

static void check(int rc, const struct cachew_error *error)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "poll_jobs: %s\n", error->message);
    exit(1);
}

static struct cachew_job *start(struct cachew_client *client, const char *file)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    check(cachew_pipeline_load(file, &pipeline, &error), &error);
    check(cachew_job_start(client, pipeline, NULL, &job, &error), &error);
    cachew_pipeline_release(pipeline);
    return job;
}

/* Takes all batches that are there. The last call, which finds none, says that the one before is
 * consumed: so it comes before each poll. Returns 0 when the job is done. */
static int take(struct cachew_job *job, unsigned long long *batches)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    while (!cachew_job_done(job)) {
        struct cachew_batch *batch = NULL;
        int rc = cachew_job_next(job, 0, &batch, &error);
        if (rc == CACHEW_E_TIMEOUT)
            return 1;
        check(rc, &error);
        *batches += rc == 1; /* 0: the epoch has ended */
        cachew_batch_release(batch);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_client *client = NULL;
    struct cachew_job *jobs[JOBS_MAX];
    struct pollfd fds[JOBS_MAX];
    unsigned long long batches[JOBS_MAX] = {0};
    int n = argc - 2, open = n;
    if (n < 1 || n > JOBS_MAX) {
        fprintf(stderr, "usage: poll_jobs DISPATCHER FILE.json...\n");
        return 2;
    }
    check(cachew_connect(argv[1], NULL, &client, &error), &error);
    for (int i = 0; i < n; i++) {
        jobs[i] = start(client, argv[i + 2]);
        fds[i] = (struct pollfd){.fd = cachew_job_fd(jobs[i], &error), .events = POLLIN};
        check(fds[i].fd, &error);
    }
    while (open > 0) {
        if (poll(fds, (nfds_t)n, -1) < 0) {
            perror("poll_jobs: poll");
            return 1;
        }
        for (int i = 0; i < n; i++) {
            if (!(fds[i].revents & POLLIN) || take(jobs[i], &batches[i]))
                continue;
            printf("%s: %llu batches\n", argv[i + 2], batches[i]);
            fds[i].fd = -1; /* poll leaves it out */
            open--;
        }
    }
    for (int i = 0; i < n; i++)
        cachew_job_close(jobs[i]);
    cachew_disconnect(client);
    return 0;
}
