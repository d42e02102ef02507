/* SPDX-License-Identifier: Apache-2.0 */
/* Prefetches the records that items will need, which are known long before an item is computed, and
 * begins to read bytes of sources. Finding them takes microseconds for small items and much longer for large ones, so a thread does
 * it, in the order in which items will begin. */
#include "worker/cache/cache_prefetch.h"

#include "base/fault.h"
#include "base/mem.h"
#include "worker/cache/cache_store.h"

#define QUEUE_MAX 256

struct entry {
    struct cw_plan *plan;
    struct cw_wcache_store *store;
    uint64_t epoch, item;
    struct cw_ahead *ahead; /* to which bytes are added; NULL: records are prefetched */
    void (*tell)(void *worker);
    struct cw_worker_state *worker;
};
struct cw_wcache_prefetch {
    struct cw_thread thread;
    struct cw_mutex mutex;
    struct cw_cond cond;
    struct entry queue[QUEUE_MAX]; /* guarded by mutex */
    size_t first, n;               /* guarded by mutex */
    bool stopping;                 /* guarded by mutex */
};

static void entry_fini(struct entry *entry)
{
    cw_ahead_unref(entry->ahead);
    if (entry->ahead)
        atomic_fetch_sub(&entry->worker->ahead.looked_at, 1);
    cw_plan_unref(entry->plan);
    cw_wcache_release(entry->store);
}

static bool take(struct cw_wcache_prefetch *a, struct entry *ret_entry)
{
    cw_mutex_lock(&a->mutex);
    while (a->n == 0 && !a->stopping)
        cw_cond_wait(&a->cond, &a->mutex);
    bool got = !a->stopping;
    if (got) {
        *ret_entry = a->queue[a->first];
        a->first = (a->first + 1) % QUEUE_MAX;
        a->n--;
    }
    cw_mutex_unlock(&a->mutex);
    return got;
}

static void read_ahead(const struct entry *entry)
{
    struct cw_worker_state *w = entry->worker;
    cw_exec_ahead(entry->plan, entry->epoch, entry->item, entry->ahead);
    size_t bytes = cw_ahead_begin(entry->ahead, entry->tell, w);
    if (bytes > atomic_load(&w->ahead.largest)) /* no other thread sets it */
        atomic_store(&w->ahead.largest, bytes);
}

static void run(void *arg)
{
    struct cw_wcache_prefetch *a = arg;
    struct entry entry;
    while (take(a, &entry)) {
        cw_fault_point("cache.ahead");
        if (entry.ahead)
            read_ahead(&entry);
        else
            cw_exec_prefetch(entry.plan, entry.epoch, entry.item);
        entry_fini(&entry);
        if (entry.ahead)
            entry.tell(entry.worker);
    }
}

static struct cw_wcache_prefetch *prefetch_new(void)
{
    struct cw_wcache_prefetch *a = CW_NEW(struct cw_wcache_prefetch);
    cw_mutex_init(&a->mutex);
    cw_cond_init(&a->cond);
    cw_thread_start(&a->thread, "cachew-ahead", run, a);
    return a;
}

static bool add(struct cw_worker_state *w, struct entry *entry)
{
    if (!w->cache.prefetch)
        w->cache.prefetch = prefetch_new();
    struct cw_wcache_prefetch *a = w->cache.prefetch;
    cw_mutex_lock(&a->mutex);
    bool room = a->n < QUEUE_MAX;
    if (room)
        a->queue[(a->first + a->n++) % QUEUE_MAX] = *entry;
    cw_cond_signal(&a->cond);
    cw_mutex_unlock(&a->mutex);
    if (!room)
        entry_fini(entry);
    return room;
}

static struct entry entry_of(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    return (struct entry){.plan = cw_plan_ref(job->plan),
                          .store = cw_wcache_use(job),
                          .epoch = epoch,
                          .item = item,
                          .worker = job->worker};
}

void cw_wcache_prefetch_add(struct cw_wjob *job, uint64_t epoch, uint64_t item)
{
    struct entry entry = entry_of(job, epoch, item);
    (void)add(job->worker, &entry);
}

bool cw_wcache_prefetch_bytes(struct cw_wjob *job, uint64_t epoch, uint64_t item,
                              struct cw_ahead *ahead, void (*tell)(void *worker))
{
    struct entry entry = entry_of(job, epoch, item);
    entry.ahead = cw_ahead_ref(ahead);
    entry.tell = tell;
    atomic_fetch_add(&job->worker->ahead.looked_at, 1);
    return add(job->worker, &entry);
}

void cw_wcache_prefetch_stop(struct cw_worker_state *w)
{
    struct cw_wcache_prefetch *a = w->cache.prefetch;
    w->cache.prefetch = NULL;
    if (!a)
        return;
    cw_mutex_lock(&a->mutex);
    a->stopping = true;
    cw_cond_signal(&a->cond);
    cw_mutex_unlock(&a->mutex);
    cw_thread_join(&a->thread);
    for (; a->n > 0; a->n--, a->first = (a->first + 1) % QUEUE_MAX)
        entry_fini(&a->queue[a->first]);
    cw_cond_fini(&a->cond);
    cw_mutex_fini(&a->mutex);
    cw_mem_free(a);
}
