/* SPDX-License-Identifier: Apache-2.0 */
/* From a batch of 10 MB that is finished in its slot of shared memory to the call of cachew_job_next
 * that waits for it, through a real worker and libcachew, beside the ping of bare gRPC; by turns in
 * one run. Started by bench_handover.py; the worker is bench_handover_worker, which writes the time
 * at which a batch was finished into it.
 *     bench_handover ADDRESS [BATCHES]        bench_handover --serve (the other end of the ping) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bare_ping.h"
#include "cachew/client.h"

#define BATCH_ELEMENTS 1250000 /* of 8 bytes */
#define MOST_OF_PING 1.2       /* the median, of that of a bare ping */
#define TURN 1                 /* batches, then as many pings */

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_handover: %s: %s\n", what, why);
    exit(1);
}

struct samples {
    int64_t *ns;
    size_t n;
};

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double us_at(struct samples *samples, double share)
{
    qsort(samples->ns, samples->n, sizeof(*samples->ns), by_size);
    return samples->n > 0 ? (double)samples->ns[(size_t)(share * (double)(samples->n - 1))] / 1e3
                          : 0;
}

/* The next batch. It counts if the call waited when the batch was finished. */
static void take(struct cachew_job *job, struct samples *samples)
{
    struct cachew_batch *batch = NULL;
    struct cachew_tensor tensor;
    struct cachew_error error;
    int64_t asked = cw_clock_ns(), finished;
    if (cachew_job_next(job, 60000, &batch, &error) != 1)
        die("cachew_job_next", error.message);
    int64_t now = cw_clock_ns();
    if (cachew_batch_tensor(batch, 0, &tensor) != 0)
        die("cachew_batch_tensor", "failed");
    memcpy(&finished, tensor.data, sizeof(finished));
    if (finished > asked)
        samples->ns[samples->n++] = now - finished;
    cachew_batch_release(batch);
}

static struct cachew_job *start(const char *address, size_t batches, struct cachew_client **client)
{
    char text[256];
    struct cachew_error error;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    options.epochs = 1;
    options.window = 1; /* nothing else is computed while a batch is handed over */
    int n = snprintf(text, sizeof(text),
                     "{\"pipeline\": [{\"op\": \"range\", \"stop\": %zu}, {\"op\": \"batch\", "
                     "\"size\": %d}]}",
                     batches * BATCH_ELEMENTS, BATCH_ELEMENTS);
    if (cachew_pipeline_parse(text, (size_t)n, &pipeline, &error) != 0 ||
        cachew_connect(address, NULL, client, &error) != 0 ||
        cachew_job_start(*client, pipeline, &options, &job, &error) != 0)
        die("start", error.message);
    cachew_pipeline_release(pipeline);
    return job;
}

static int run(const char *address, const char *pinged, size_t turns)
{
    struct cachew_client *client = NULL;
    struct samples batches = {CW_NEW_ARRAY(int64_t, turns * TURN), 0},
                   pings = {CW_NEW_ARRAY(int64_t, turns * TURN), 0};
    struct cachew_job *job = start(address, turns * TURN, &client);
    struct bare_ping *ping = bare_ping_open(pinged);
    if (!ping)
        die("ping", "no stream");
    for (size_t turn = 0; turn < turns; turn++) {
        for (size_t i = 0; i < TURN; i++)
            take(job, &batches);
        for (size_t i = 0; i < TURN; i++)
            pings.ns[pings.n++] = bare_ping_once(ping);
    }
    double p50 = us_at(&batches, 0.5), ping50 = us_at(&pings, 0.5);
    printf("bench_handover: bytes=%d n=%zu handover_us p10=%.1f p50=%.1f p90=%.1f ping_us p10=%.1f "
           "p50=%.1f p90=%.1f ratio=%.2f\n",
           8 * BATCH_ELEMENTS, batches.n, us_at(&batches, 0.1), p50, us_at(&batches, 0.9),
           us_at(&pings, 0.1), ping50, us_at(&pings, 0.9), p50 / ping50);
    bare_ping_close(ping);
    cachew_job_close(job);
    cachew_disconnect(client);
    cw_mem_free(batches.ns);
    cw_mem_free(pings.ns);
    if (p50 > MOST_OF_PING * ping50)
        fprintf(stderr, "bench_handover: a ratio of at most %.1f is wanted\n", MOST_OF_PING);
    return p50 > MOST_OF_PING * ping50;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--serve") == 0)
        return bare_ping_serve();
    if (argc < 3)
        die("usage", "bench_handover ADDRESS ADDRESS_OF_PING [TURNS]");
    return run(argv[1], argv[2], argc > 3 ? strtoul(argv[3], NULL, 10) : 50);
}
