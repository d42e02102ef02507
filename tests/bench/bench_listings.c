/* SPDX-License-Identifier: Apache-2.0 */
/* What tools ask costs the dispatcher's loop: the most CPU time of one turn of it, and in how many
 * turns a call is answered. For a made-up fleet: peers of unit/dispatcher/peers.h, no network.
 *
 *   build/fast/tests/bench_listings [WORKERS [JOBS]]
 *
 * Each job has ten workers. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "dispatcher/job/job.h"
#include "loop/offload.h"
#include "unit/dispatcher/peers.h"

static void add_job(uint64_t i, uint64_t workers)
{
    char name[32], policy[] = "fixed:10";
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    (void)snprintf(name, sizeof(name), "job%llu", (unsigned long long)i);
    options.name = name;
    options.autoscale = policy;
    (void)peers_trainer(1000000 + i, &options);
    struct cw_job *job = cw_job_find(&made_up, name);
    assert_non_null(job);
    for (uint64_t w = 0; w < 10; w++)
        cw_share_get(job, cw_map_get(&made_up.workers_by_id, 1 + (i * 10 + w) % workers))
            ->assigned = true;
    job->status = CW_JOB_RUNNING;
}

/* The reply is not unpacked: the dispatcher's thread would not do that, nor free what comes of it. */
static void ask(const char *method, const ProtobufCMessage *request)
{
    const struct peers_answer *got = peers_ask(method, request, NULL);
    printf("%-12s %6.2f ms at most in a turn, %4zu turns%s%s\n", method,
           (double)peers_longest_ns() / 1e6, 1 + peers_slices_n(), got->code ? ": " : "",
           got->code ? got->msg : "");
}

int main(int argc, char **argv)
{
    uint64_t workers = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    char name[] = "job0";
    void *state = NULL;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (peers_begin(&state) != 0)
        return 1;
    made_up.options.max_jobs = 1 << 20;
    made_up.offload = cw_offload_queue_new(made_up.loop, "print");
    for (uint64_t i = 1; i <= workers; i++)
        (void)peers_worker(i, 1);
    for (uint64_t i = 0; i < jobs; i++)
        add_job(i, workers);
    printf("%zu workers, %zu jobs\n", made_up.workers_n, made_up.jobs_n);
    Cachew__V1__ListWorkersRequest list_workers = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    Cachew__V1__ListJobsRequest list_jobs = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    Cachew__V1__GetMetricsRequest metrics = CACHEW__V1__GET_METRICS_REQUEST__INIT;
    Cachew__V1__ExplainRequest explain = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    explain.job = name;
    peers_turn();
    malloc_trim(0); /* What the peers' messages have left is not the dispatcher's. */
    for (int round = 0; round < 3; round++) {
        ask("ListWorkers", &list_workers.base);
        ask("ListJobs", &list_jobs.base);
        ask("GetMetrics", &metrics.base);
        ask("Explain", &explain.base);
    }
    cw_offload_queue_free(cw_steal(&made_up.offload));
    return 0; /* The rest ends with the process. */
}
