/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker has is bounded (bounds.h): in its program, whenever it has looked for items to
 * begin. The linker leads the calls here. */
#include "bounds.h"

#include "worker/compute/tasks.h"
#include "worker/model/budget.h"
#include "worker/model/client.h"
#include "worker/model/job.h"
#include "worker/model/state.h"

__typeof__(cw_tasks_pump) __real_cw_tasks_pump, __wrap_cw_tasks_pump;

struct sums {
    uint64_t tasks, outputs, bytes, held, item_bytes;
};

/* An output that goes to all consumers is in as many queues; it is counted in the first one that
 * still has it, as a part of what it is. */
static void add_outputs(const struct cw_wjob *job, struct sums *sums, double *ret_parts,
                        double *ret_bytes)
{
    for (uint32_t c = 0; c < job->consumers; c++)
        for (size_t i = 0; i < job->queues[c].n; i++) {
            const struct cw_output *o = job->queues[c].v[i];
            *ret_parts += 1.0 / o->copies;
            *ret_bytes += (double)o->held / o->copies;
            if (o->held > sums->item_bytes)
                sums->item_bytes = o->held;
        }
}

static struct sums sums_of(const struct cw_wjob *job)
{
    struct sums sums = {.item_bytes = job->item_bytes};
    double parts = 0, bytes = 0;
    uint64_t wanted = 0;

    for (const struct cw_wtask *t = job->tasks; t; t = t->next) {
        sums.tasks++;
        sums.bytes += t->bytes;
        wanted += !t->revoked;
    }
    add_outputs(job, &sums, &parts, &bytes);
    sums.outputs = (uint64_t)(parts + 0.5);
    sums.bytes += (uint64_t)(bytes + 0.5);
    sums.held = wanted + sums.outputs;
    for (size_t i = 0; i < job->leases_n; i++)
        sums.held += cw_set_count(&job->leases[i].pending);
    return sums;
}

static void check_job(const struct cw_wjob *job, uint64_t *ret_bytes, uint64_t *ret_item_bytes)
{
    const struct sums sums = sums_of(job);
    uint64_t held = 0;

    for (size_t i = 0; i < job->epochs_n; i++)
        held += cw_set_count(&job->epochs[i].held);
    sim_equal("tasks of a job", job->tasks_n, sums.tasks);
    sim_equal("outputs of a job", job->queued_n, sums.outputs);
    sim_equal("bytes of items of a job", job->bytes, sums.bytes);
    sim_equal("items of a job held", held, sums.held);
    sim_bound("epochs of a job", job->epochs_n, SIM_MOST_WORKER_EPOCHS);
    *ret_bytes += job->bytes;
    if (sums.item_bytes > *ret_item_bytes)
        *ret_item_bytes = sums.item_bytes;
}

static void check_clients(const struct cw_worker_state *w, uint64_t item_bytes)
{
    uint64_t n = 0;

    for (const struct cw_wclient *c = w->clients; c; c = c->next, n++) {
        sim_bound("epochs of what was sent", c->sent_n, SIM_MOST_SENT_EPOCHS);
        if (c->stream)
            sim_bound("bytes that wait for a client", cw_stream_queued(c->stream),
                      SIM_MOST_STREAM_BYTES(item_bytes));
    }
    sim_equal("clients", w->clients_n, n);
}

/* What the worker may have. Jobs that were forgotten still have what threads compute, so this does not fall as long
 * as the worker has more than its jobs account for. */
static uint64_t memory_most;

static uint64_t memory_bound(const struct cw_worker_state *w, uint64_t item_bytes)
{
    return SIM_MOST_MEMORY(cw_budget(w), w->jobs.n + w->tasks_n, item_bytes);
}

static void check_memory(const struct cw_worker_state *w, uint64_t item_bytes)
{
    uint64_t bound = memory_bound(w, item_bytes);
    if (bound >= w->memory.bytes || memory_most < bound)
        memory_most = bound;
    sim_bound("bytes of items", w->memory.bytes, memory_most);
}

/* Between two checks there may have been more jobs, and larger items, than there are at both. */
static void note_memory(const struct cw_worker_state *w)
{
    uint64_t item_bytes = 0;

    for (size_t i = 0; i < w->jobs.n; i++) {
        const struct cw_wjob *job = w->jobs.list[i];
        item_bytes = CW_MAX(item_bytes, job->item_bytes);
        for (const struct cw_wtask *t = job->tasks; t; t = t->next)
            item_bytes = CW_MAX(item_bytes, t->bytes);
    }
    memory_most = CW_MAX(memory_most, memory_bound(w, item_bytes));
}

static void check(const struct cw_worker_state *w)
{
    static unsigned pumps;
    uint64_t bytes = 0, item_bytes = 0, waiting = 0;

    note_memory(w);
    if (w->closing || w->drain.over || pumps++ % SIM_BOUND_EVERY != 0)
        return;
    for (size_t i = 0; i < w->jobs.n; i++)
        check_job(w->jobs.list[i], &bytes, &item_bytes);
    /* Jobs that were forgotten still have what threads compute. */
    if (w->memory.bytes < bytes)
        sim_equal("bytes of items", w->memory.bytes, bytes);
    check_memory(w, item_bytes);
    sim_bound("bytes kept for other jobs", w->dedup.bytes, w->dedup.limit);
    sim_bound("events of the cache", w->cache.events_n, SIM_MOST_EVENTS);
    sim_bound("plans that are being opened", w->loader.running_n, w->jobs.n + 256);
    if (w->session.stream)
        waiting = cw_stream_queued(w->session.stream);
    sim_bound("bytes that wait for the dispatcher", waiting, SIM_MOST_CONTROL_BYTES);
    check_clients(w, item_bytes);
}

void __wrap_cw_tasks_pump(struct cw_worker_state *w)
{
    __real_cw_tasks_pump(w);
    check(w);
}
