/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which nodes of a job's plan read and write the cache: those that the dispatcher names,
 * from the time when the plan is open, and again whenever the dispatcher changes its choice. It
 * also decides when records that do not fill a chunk are written: at the end of an epoch, when the
 * job has been idle for a while, and when the job ends.
 *
 * Items may begin before the indices of a key's chunks are loaded; records whose chunk is not known
 * yet are computed. Loading gets a head start, since otherwise a second job would compute again
 * what could be read. The head start is short, because a slow store must not keep a trainer
 * waiting: in the next epoch all indices are loaded anyway. */
#include "worker/cache/cache_job.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"
#include "wire/wire.h"
#include "worker/cache/cache_keys.h"
#include "worker/cache/cache_prefetch.h"
#include "worker/cache/cache_store.h"

#define HEAD_START_MS 200
#define LOOK_MS 5
/* A job's records are written when it has been idle for this time. If a trainer is slower than
 * that, each item would cause a chunk, so the time doubles with each flush. */
#define IDLE_MS 300
#define IDLE_MAX_MS 10000
#define AHEAD_ITEMS 16 /* number of items that are prefetched beyond those that exec has */

static void free_uses(struct cw_wcache_job *c)
{
    for (size_t i = 0; i < c->uses_n; i++)
        cw_mem_free(c->uses[i].node);
    cw_mem_free(c->uses);
    c->uses = NULL;
    c->uses_n = 0;
}

static struct cw_wcache_store *store_of(const struct cw_wjob *job)
{
    return cw_wcache_store_of(job->worker, job->cache.cache_id);
}

void cw_wcache_job_set(struct cw_wjob *job, uint64_t cache_id, Cachew__V1__CacheUse *const *uses,
                       size_t n)
{
    struct cw_wcache_job *c = &job->cache;
    if (c->cache_id != cache_id)
        cw_wcache_job_disengage(job);
    c->cache_id = cache_id;
    free_uses(c);
    c->uses = CW_NEW_ARRAY(struct cw_wcache_use, n);
    for (size_t i = 0; i < n; i++) {
        struct cw_wcache_use *use = &c->uses[c->uses_n];
        if (!cw_wire_hash_from(uses[i]->key, &use->key)) {
            cw_log_warn("worker",
                        "job=%s node \"%.60s\" is to be cached, but without a key: ignored",
                        job->id, uses[i]->node);
            continue;
        }
        use->node = cw_mem_strdup(uses[i]->node);
        use->read = uses[i]->read;
        use->write = uses[i]->write;
        c->uses_n++;
    }
    cw_wcache_job_engage(job);
}

/* ---- nodes ---- */

static size_t nodes_n(const struct cw_wjob *job)
{
    return job->plan ? cw_plan_graph(job->plan)->n : 0;
}

static struct cw_hash key_of(const struct cw_wjob *job, size_t node)
{
    struct cw_plan_cacheable facts;
    cw_plan_cacheable(job->plan, node, &facts);
    return facts.key;
}

/* Whether the use is meant for this node. In another order than the written one the elements may be
 * at a node of another name: then it is the last one with the use's key. */
static bool is_use_of(const struct cw_wjob *job, size_t node, const struct cw_wcache_use *use)
{
    size_t named = cw_plan_node_named(job->plan, use->node);
    if (job->plan == job->written ||
        (named != SIZE_MAX && cw_hash_eq(key_of(job, named), use->key)))
        return node == named;
    if (!cw_hash_eq(key_of(job, node), use->key))
        return false;
    for (size_t i = node + 1; i < nodes_n(job); i++)
        if (cw_hash_eq(key_of(job, i), use->key))
            return false;
    return true;
}

static const struct cw_wcache_use *use_of(const struct cw_wjob *job, size_t node)
{
    const struct cw_wcache_job *c = &job->cache;
    for (size_t i = 0; i < c->uses_n; i++)
        if ((c->uses[i].read || c->uses[i].write) && is_use_of(job, node, &c->uses[i]))
            return &c->uses[i];
    return NULL;
}

/* Whether the node may use the cache. The dispatcher's keys come from the worker that prepared the
 * job. If this worker sees other files, its keys differ, and nothing may be cached. */
static bool may_engage(const struct cw_wjob *job, size_t node, const struct cw_wcache_use *use,
                       struct cw_plan_cacheable *ret)
{
    const char *name = cw_plan_graph(job->plan)->nodes[node].name;
    cw_plan_cacheable(job->plan, node, ret);
    if (ret->why_not)
        cw_log_warn("worker", "job=%s node \"%s\" is to be cached, but cannot be: %s", job->id,
                    name, ret->why_not);
    else if (!cw_hash_eq(ret->key, use->key))
        cw_log_warn("worker",
                    "job=%s node \"%s\" is not cached here: its elements are others than the "
                    "dispatcher's key says",
                    job->id, name);
    else if (job->cache.tenant && cw_name_check_tenant(job->cache.tenant, NULL) != 0)
        cw_log_warn("worker", "job=%s is not cached here: \"%.80s\" is no name of a tenant",
                    job->id, job->cache.tenant);
    else
        return true;
    return false;
}

static void leave_node(struct cw_plan *plan, struct cw_wcache_engaged *nodes, size_t node)
{
    struct cw_wcache_engaged *engaged = &nodes[node];
    if (!engaged->key)
        return;
    (void)cw_plan_set_cache(plan, node, NULL, false, false, NULL);
    cw_wcache_key_leave(engaged->key);
    *engaged = (struct cw_wcache_engaged){0};
}

static void engage_node(struct cw_wjob *job, size_t node)
{
    struct cw_worker_state *w = job->worker;
    struct cw_wcache_engaged *engaged = &job->cache.nodes[node];
    const struct cw_wcache_use *use = use_of(job, node);
    struct cw_plan_cacheable facts;
    struct cw_err err = {0};
    if (!use || !may_engage(job, node, use, &facts)) {
        leave_node(job->plan, job->cache.nodes, node);
        return;
    }
    struct cw_wcache_key *key = cw_wcache_key(w, job->cache.cache_id, job->cache.tenant, use->key);
    if (engaged->key == key && engaged->read == use->read && engaged->write == use->write)
        return;
    struct cw_cache_dataset *cache = cw_wcache_key_use(w, key, facts.out);
    if (cw_plan_set_cache(job->plan, node, cache, use->read, use->write, &err) != 0) {
        cw_log_warn("worker", "job=%s node \"%s\" is not cached: %s", job->id, use->node, err.msg);
        cw_wcache_key_leave(key);
        return;
    }
    if (use->read && !engaged->read)
        job->cache.waits_ms = cw_clock_ms();
    if (engaged->key)
        cw_wcache_key_leave(engaged->key);
    *engaged = (struct cw_wcache_engaged){key, use->read, use->write};
    cw_log_info("worker", "job=%s node \"%s\": cache %s is %s", job->id, use->node, key->name,
                !use->write ? "read"
                : use->read ? "read and written"
                            : "written");
}

void cw_wcache_job_engage(struct cw_wjob *job)
{
    struct cw_wcache_job *c = &job->cache;
    const struct cw_wcache_store *store = store_of(job);
    if (job->plan) {
        cw_plan_set_source_store(job->written, c->cache_id);
        cw_plan_set_source_store(job->plan, c->cache_id);
    }
    if (!job->plan || (!c->nodes && c->uses_n == 0))
        return;
    if (!c->nodes)
        c->nodes = CW_NEW_ARRAY(struct cw_wcache_engaged, nodes_n(job));
    if (store && store->opening && c->waits_ms == 0)
        c->waits_ms = cw_clock_ms();
    if (!store || store->opening || !store->cache)
        return;
    c->reads = false;
    for (size_t i = 0; i < nodes_n(job); i++) {
        engage_node(job, i);
        c->reads |= c->nodes[i].key && c->nodes[i].read;
    }
}

void cw_wcache_job_disengage(struct cw_wjob *job)
{
    job->cache.reads = false;
    for (size_t i = 0; job->cache.nodes && i < nodes_n(job); i++)
        leave_node(job->plan, job->cache.nodes, i);
}

/* First the keys are used by the new plan, so that none is given up in between. */
void cw_wcache_job_replanned(struct cw_wjob *job, struct cw_plan *old)
{
    struct cw_wcache_engaged *nodes = job->cache.nodes;
    int64_t waits_ms = job->cache.waits_ms;
    job->cache.nodes = NULL;
    job->cache.reads = false;
    cw_wcache_job_engage(job);
    job->cache.waits_ms = waits_ms; /* what was read before need not be waited for */
    for (size_t i = 0; nodes && i < cw_plan_graph(old)->n; i++)
        leave_node(old, nodes, i);
    cw_mem_free(nodes);
}

/* ---- beginning items ---- */

static bool is_loading(const struct cw_wjob *job)
{
    const struct cw_wcache_job *c = &job->cache;
    const struct cw_wcache_store *store = store_of(job);
    if (store && store->opening)
        return true;
    for (size_t i = 0; c->reads && i < nodes_n(job); i++)
        if (c->nodes[i].key && c->nodes[i].read &&
            !cw_cache_dataset_is_loaded(c->nodes[i].key->dataset))
            return true;
    return false;
}

bool cw_wcache_job_may_begin(struct cw_wjob *job)
{
    struct cw_wcache_job *c = &job->cache;
    if (c->waits_ms == 0)
        return true;
    if (cw_clock_ms() - c->waits_ms < HEAD_START_MS && is_loading(job)) {
        cw_timer_start(job->worker->cache.timer, LOOK_MS, 0);
        return false;
    }
    c->waits_ms = 0;
    return true;
}

static bool wants_ahead(const struct cw_wjob *job)
{
    const struct cw_wcache_job *c = &job->cache;
    for (size_t i = 0; c->reads && i < nodes_n(job); i++)
        if (c->nodes[i].key && c->nodes[i].read && c->nodes[i].key->dataset &&
            cw_cache_wants_prefetch(c->nodes[i].key->dataset))
            return true;
    return false;
}

static void read_ahead(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    struct cw_wcache_job *c = &job->cache;
    if (epoch != c->ahead_epoch || c->ahead.n > 64)
        cw_set_clear(&c->ahead);
    c->ahead_epoch = epoch;
    if (cw_set_has(&c->ahead, item))
        return;
    cw_set_add(&c->ahead, item, item + 1);
    cw_wcache_prefetch_add(job, epoch, item);
}

void cw_wcache_job_begun(struct cw_wjob *job, struct cw_wtask *task)
{
    struct cw_wcache_job *c = &job->cache;
    task->store = cw_wcache_use(job);
    if (task->exec.epoch > c->epoch) {
        c->has_earlier_epoch = true;
        c->epoch = task->exec.epoch;
    }
    if (!task->store || !wants_ahead(job))
        return;
    read_ahead(job, task->exec.epoch, task->exec.item);
    uint64_t epoch = 0, next = 0;
    if (!cw_wlease_peek(job, &epoch, &next) || epoch != task->exec.epoch)
        return;
    uint64_t end = CW_MIN(job->leases[0].pending.v[0].hi, next + AHEAD_ITEMS);
    for (; next < end; next++)
        read_ahead(job, epoch, next);
}

/* ---- writing records that do not fill a chunk ---- */

void cw_wcache_job_flush(struct cw_wjob *job)
{
    const struct cw_wcache_store *store = store_of(job);
    struct cw_wcache_job *c = &job->cache;
    c->has_unflushed = c->has_earlier_epoch = false;
    if (!store || store->opening || !store->cache)
        return;
    for (size_t i = 0; c->nodes && i < nodes_n(job); i++)
        if (c->nodes[i].key && c->nodes[i].write && c->nodes[i].key->dataset)
            cw_cache_flush(store->cache, c->nodes[i].key->dataset);
}

static bool has_earlier(const struct cw_wjob *job, uint64_t epoch)
{
    for (const struct cw_wtask *t = job->tasks; t; t = t->next)
        if (t->exec.epoch < epoch)
            return true;
    return false;
}

/* The task was removed from the job's list before. */
void cw_wcache_job_done(struct cw_wjob *job, struct cw_wtask *task)
{
    struct cw_wcache_job *c = &job->cache;
    cw_wcache_release(task->store);
    task->store = NULL;
    c->has_unflushed = true;
    if (c->has_earlier_epoch && !has_earlier(job, c->epoch))
        cw_wcache_job_flush(job);
}

void cw_wcache_job_beat(struct cw_wjob *job, int64_t now_ms)
{
    struct cw_wcache_job *c = &job->cache;
    if (!c->nodes || !c->has_unflushed || job->tasks_n > 0 || job->leases_n > 0) {
        c->idle_ms = 0;
        return;
    }
    if (c->idle_ms == 0)
        c->idle_ms = now_ms;
    c->idle_limit_ms = CW_MAX(c->idle_limit_ms, (int64_t)IDLE_MS);
    if (now_ms - c->idle_ms < c->idle_limit_ms)
        return;
    c->idle_limit_ms = CW_MIN(2 * c->idle_limit_ms, (int64_t)IDLE_MAX_MS);
    cw_wcache_job_flush(job);
}

void cw_wcache_job_fini(struct cw_wjob *job)
{
    cw_wcache_job_disengage(job);
    free_uses(&job->cache);
    cw_set_fini(&job->cache.ahead);
    cw_mem_free(job->cache.nodes);
    cw_mem_free(job->cache.tenant);
}
