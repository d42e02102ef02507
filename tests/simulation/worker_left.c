/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker has left when all jobs have ended, read from its own state: in a worker's program,
 * beside the product. */
#include "worker/model/client.h"
#include "worker/model/job.h"
#include "worker/model/state.h"
#include "worker_held.h"

/* Of the caches: a key stays in memory for a while, and who uses it is counted. */
static const char *left_of_cache(const struct cw_wcache *cache)
{
    const struct cw_wcache_key *key;
    const char *name;
    size_t i = 0;
    void *value;

    while (cw_strmap_next(&cache->keys, &i, &name, &value)) {
        key = value;
        if (key->jobs_n > 0)
            return "a key of the cache in use";
    }
    return cache->retired ? "a store that was replaced" : NULL;
}

static const char *left_of_all(const struct cw_worker_state *w)
{
    if (w->tasks_n > 0)
        return "a task";
    if (w->memory.bytes > 0)
        return "memory of items";
    if (w->dedup.functions || w->dedup.bytes > 0)
        return "outputs kept for other jobs";
    return left_of_cache(&w->cache);
}

/* Nothing here allocates: it is asked in the world's context. */
const char *sim_worker_left(bool (*is_over)(const char *job_id))
{
    const struct cw_worker_state *w = sim_worker_at ? *sim_worker_at : NULL;

    if (!w)
        return NULL;
    if (!w->session.attached)
        return "no dispatcher";
    if (w->clients || w->clients_n > 0)
        return "a client";
    if (w->loader.running || w->loader.waiting)
        return "a plan that is being opened";
    if (w->jobs.n != w->jobs.by_id.n)
        return "a job that is in one table only";
    for (size_t i = 0; i < w->jobs.n; i++)
        if (is_over(w->jobs.list[i]->id))
            return "a job that is over";
    return w->jobs.n == 0 ? left_of_all(w) : NULL;
}

const char *sim_worker_left_of_caches(bool detached)
{
    const struct cw_worker_state *w = sim_worker_at ? *sim_worker_at : NULL;

    /* A job whose trainer was killed at its end is not over, and has its cache. */
    if (!w || (!detached && w->jobs.n > 0))
        return NULL;
    if (w->cache.named)
        return "the store of a named cache in a worker";
    return w->cache.retired || w->cache.left_n > 0 ? "a store that a worker leaves" : NULL;
}
