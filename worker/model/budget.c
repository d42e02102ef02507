/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the memory that items may use, and the share of one job. */
#include "worker/model/budget.h"

#include "ops/source/loaded.h"
#include "worker/model/state.h"

size_t cw_budget(const struct cw_worker_state *w)
{
    /* the rest of the budget belongs to the caches and to what sources have in memory */
    size_t caches = w->cache.store ? w->cache.memory : 0;
    for (const struct cw_wcache_store *store = w->cache.named; store; store = store->next)
        caches += store->memory;
    const size_t others = CW_MIN(caches + cw_loaded_bytes(), w->budget);
    size_t own = CW_MAX(w->budget - others, w->budget / 4);
    return w->memory.allowed ? CW_MIN(own, w->memory.allowed) : own;
}

size_t cw_budget_of(const struct cw_wjob *job)
{
    const struct cw_worker_state *w = job->worker;
    double parts = 0;
    for (size_t i = 0; i < w->jobs.n; i++)
        if (w->jobs.list[i] == job || w->jobs.list[i]->leases_n > 0 || w->jobs.list[i]->bytes > 0)
            parts += w->jobs.list[i]->part;
    return (size_t)((double)cw_budget(w) * (parts > 0 ? job->part / parts : 1));
}

size_t cw_budget_stream_bytes(const struct cw_worker_state *w)
{
    size_t bytes = w->shm.lent_bytes;
    for (const struct cw_wclient *c = w->clients; c; c = c->next)
        bytes += c->stream ? cw_stream_queued(c->stream) : 0;
    return bytes;
}

void cw_memory_freed(struct cw_worker_state *w)
{
    w->memory.waits = false;
}
