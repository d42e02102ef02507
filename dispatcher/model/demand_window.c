/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include <string.h>

void cw_demand_add(struct cw_demand_sums *sums, const Cachew__V1__Measure *m, uint64_t ready)
{
    sums->batches += m->batches;
    sums->bytes += m->bytes;
    sums->copies += m->copies;
    sums->ns += m->ns;
    sums->wait_ns += CW_MIN(m->wait_ns, m->ns);
    if (m->step_ns > 0) {
        sums->step_ns += (double)m->step_ns * (double)m->batches;
        sums->step_batches += (double)m->batches;
    }
    sums->queue += (double)ready;
    sums->queue_n++;
}

void cw_demand_begin(const struct cw_job *job, struct cw_demand_sums *sums)
{
    *sums = (struct cw_demand_sums){.threads = job->threads.total};
}

/* Sets the number of workers, the use of their CPUs, and the batches that one worker can compute
 * per second when nothing holds it up. */
static void add_workers(const struct cw_job *job, struct cw_scale_window *w)
{
    double threads = 0, cpu = 0;
    struct cw_serving serving = {.job = job};
    for (const struct cw_worker *worker; (worker = cw_serving_next(&serving));) {
        *(worker->only_job[0] != '\0' ? &w->local : &w->remote) += 1;
        threads += worker->threads;
        cpu += worker->cpu_share;
    }
    double n = w->local + w->remote;
    w->cpu = n > 0 ? cpu / n : 0;
    w->rate = n > 0 && job->item_busy_ns > 0 ? threads / n * 1e9 / job->item_busy_ns : 0;
}

/* Returns what the threads of the job's workers did in the window. A worker that serves the job and
 * was never leased anything of it does not know it, and reports nothing: it waited for a lease all
 * the time, or for the trainers to take what others have computed. */
static struct cw_thread_use used(const struct cw_job *job, const struct cw_demand_sums *s,
                                 int64_t window_ms)
{
    struct cw_thread_use now = job->threads.total;
    struct cw_serving serving = {.job = job};
    double idle_ns = 0;
    for (const struct cw_worker *worker; (worker = cw_serving_next(&serving));) {
        if (!cw_map_get(&job->threads.workers, worker->id))
            idle_ns += (double)worker->threads * (double)window_ms * 1e6;
    }
    if (memcmp(&now, &s->threads, sizeof(now)) != 0)
        *(cw_job_trainer_waits(job) ? &now.lease : &now.trainer) += idle_ns;
    return cw_thread_use_shares(&now, &s->threads);
}

struct cw_scale_window cw_demand_window(const struct cw_job *job, const struct cw_demand_sums *s,
                                        int64_t begin_ms, int64_t now)
{
    double all = job->layout.consumers, consumers = job->layout.to_all ? 1 : all;
    struct cw_scale_window w = {
        .at_s = (double)now / 1e3,
        .seconds = s->ns > 0 ? (double)s->ns / 1e9 / all : (double)(now - begin_ms) / 1e3,
        .batches = (double)s->batches / (job->layout.to_all ? all : 1),
        .wait_share = s->ns > 0 ? (double)s->wait_ns / (double)s->ns : 0,
        .queue = s->queue_n > 0 ? s->queue / (double)s->queue_n : 0,
        .step_s = s->step_batches > 0 ? s->step_ns / s->step_batches / 1e9 / consumers : 0};
    w.threads = used(job, s, now - begin_ms);
    add_workers(job, &w);
    return w;
}
