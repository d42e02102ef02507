/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers that step together: none asks for another batch before all have theirs, as when they
 * wait for each other in an all-reduce. One process, one thread.
 *
 * usage: in_step ADDRESS PIPELINE CONSUMERS EPOCHS WINDOW BUFFER     prints a line a batch:
 *       epoch, number, elements, a sum of its bytes, and how long the rows of its first field are */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cachew/cachew.h"

#define WAIT_MS 120000
#define CONSUMERS_MAX 16

static struct cachew_error error;

static void check(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "in_step: %s: %s\n", what, error.message);
    exit(1);
}

static void print_batch(const struct cachew_batch *batch)
{
    uint64_t sum = 0;
    int64_t length = 0;
    for (size_t i = 0; i < cachew_batch_tensors(batch); i++) {
        struct cachew_tensor tensor;
        check(cachew_batch_tensor(batch, i, &tensor), "tensor");
        if (i == 0 && tensor.rank > 1)
            length = tensor.dims[1];
        for (size_t k = 0; k < tensor.bytes; k++)
            sum = (sum ^ ((const unsigned char *)tensor.data)[k]) * UINT64_C(1099511628211);
    }
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 " %" PRId64 "\n",
           cachew_batch_epoch(batch), cachew_batch_number(batch), cachew_batch_elements(batch), sum,
           length);
}

/* Whether anybody got anything, be it the end of an epoch. */
static int step(struct cachew_job *const *jobs, int n)
{
    int any = 0;
    for (int i = 0; i < n; i++) {
        struct cachew_batch *batch = NULL;
        if (cachew_job_done(jobs[i]))
            continue;
        any = 1;
        check(cachew_job_next(jobs[i], WAIT_MS, &batch, &error), "next");
        if (batch)
            print_batch(batch);
        cachew_batch_release(batch);
    }
    return any;
}

int main(int argc, char **argv)
{
    struct cachew_client *client = NULL;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *jobs[CONSUMERS_MAX] = {0};
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    int n = argc == 7 ? (int)strtoul(argv[3], NULL, 10) : 0;
    if (n < 1 || n > CONSUMERS_MAX) {
        fprintf(stderr, "usage: in_step ADDRESS PIPELINE CONSUMERS EPOCHS WINDOW BUFFER\n");
        return 2;
    }
    check(cachew_connect(argv[1], NULL, &client, &error), "connect");
    check(cachew_pipeline_load(argv[2], &pipeline, &error), "pipeline");
    options.name = n > 1 ? "in_step" : NULL;
    options.mode = n > 1 ? CACHEW_COORDINATED : CACHEW_SINGLE;
    options.consumers = (uint32_t)n;
    options.epochs = strtoull(argv[4], NULL, 10);
    options.window = (uint32_t)strtoul(argv[5], NULL, 10);
    options.buffer_bytes = strtoull(argv[6], NULL, 10);
    for (int i = 0; i < n; i++) {
        options.consumer = (uint32_t)i;
        check(cachew_job_start(client, pipeline, &options, &jobs[i], &error), "start");
    }
    while (step(jobs, n) > 0)
        continue;
    for (int i = 0; i < n; i++)
        cachew_job_close(jobs[i]);
    cachew_pipeline_release(pipeline);
    cachew_disconnect(client);
    return 0;
}
