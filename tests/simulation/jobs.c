/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <stdio.h>
#include <string.h>

#include "cachew/client.h"

#define AT_MOST_ONCE 8 /* of so many jobs one, if it can */
#define SEEDS 3        /* of jobs: few, so that references are found again */

static const struct {
    const char *label, *pipeline;
    bool is_sparse, is_cached;
} pipelines[] = {
    {"dense",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 400}, {\"op\": \"shuffle\"}, {\"op\": "
     "\"eval\", \"expr\": \"x * 3 + 1\"}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": \"batch\", "
     "\"size\": 5}]}",
     false, false},
    /* An item of a sparse job is 256 KiB of rows, or a batch: rows are long, so that there are many. */
    {"sparse",
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 600}, {\"op\": \"shuffle\"}, {\"op\": "
     "\"sleep\", \"ms\": 1}, {\"op\": \"filter\", \"expr\": \"x % 3 != 1\"}, {\"op\": \"inflate\", "
     "\"factor\": 1024}, {\"op\": \"skip\", \"count\": 7}, {\"op\": \"batch\", \"size\": 8}]}",
     true, false},
    {"sieve", /* a batch is of ten items */
     "{\"pipeline\": [{\"op\": \"range\", \"stop\": 600}, {\"op\": \"shuffle\"}, {\"op\": "
     "\"filter\", \"expr\": \"x % 10 == 0\"}, {\"op\": \"sleep\", \"ms\": 1}, {\"op\": "
     "\"inflate\", \"factor\": 4096}, {\"op\": \"batch\", \"size\": 8}]}",
     true, false},
};

struct sim_job sim_job_draw(int number)
{
    size_t which = (size_t)sim_below(sizeof(pipelines) / sizeof(pipelines[0]));
    struct sim_job job = {.label = pipelines[which].label,
                          .pipeline = pipelines[which].pipeline,
                          .is_sparse = pipelines[which].is_sparse,
                          .is_cached = pipelines[which].is_cached,
                          .seed = 1 + sim_below(SEEDS),
                          .epochs = 2,
                          .window = sim_one_in(4) ? 1 + sim_below(8) : 0,
                          .unordered = sim_one_in(4),
                          .at_most_once = false,
                          .mode = 0,
                          .consumers = 1};

    switch (sim_below(6)) {
    case 0:
        job.mode = CACHEW_COORDINATED;
        job.consumers = (int)sim_between(2, 3);
        break;
    case 1:
        job.mode = job.is_sparse ? CACHEW_COORDINATED : CACHEW_SHARED;
        job.consumers = (int)sim_between(2, 3);
        break;
    default:
        break;
    }
    /* Not of several consumers of a sparse job: docs/reliability.md says what they may see. */
    job.at_most_once = (sim_seed() + (uint64_t)number) % AT_MOST_ONCE == 0 &&
                       (!job.is_sparse || job.consumers == 1);
    if (job.consumers > 1 || sim_one_in(2))
        snprintf(job.name, sizeof(job.name), "job%d", number);
    return job;
}

struct sim_trainer *sim_job_trainer(const struct sim_job *job, int consumer)
{
    struct sim_trainer *t = sim_world_alloc(sizeof(*t));

    t->pipeline = job->pipeline;
    t->seed = job->seed;
    t->epochs = job->epochs;
    t->window = job->window;
    t->unordered = job->unordered;
    t->at_most_once = job->at_most_once;
    t->mode = job->mode;
    t->consumers = job->consumers;
    t->consumer = consumer;
    t->is_sparse = job->is_sparse;
    t->to = (struct sim_place){UINT64_MAX, 0};
    if (job->mode == CACHEW_SHARED && consumer > 0) {
        t->joins_ns = sim_one_in(3) ? sim_between(0, SIM_S) : 0;
        t->came_late = t->joins_ns > 0;
        t->leaves_after = sim_one_in(3) ? 1 + sim_below(20) : 0;
        t->comes_back = sim_one_in(2);
    }
    t->cache = job->cache;
    memcpy(t->name, job->name, sizeof(t->name));
    return t;
}
