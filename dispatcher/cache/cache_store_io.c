/* SPDX-License-Identifier: Apache-2.0 */
/* The store's I/O, which may take seconds: two threads with a queue each (listings; deleting and
 * asking for room), so that a long listing holds nothing up. What they find out is posted to the
 * loop. */
#include "dispatcher/cache/cache_int.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/thread.h"
#include "cache/store/store.h"

#define BATCH 256          /* names of a listing that are posted at once */
#define RETRY_AWAY_MS 1000 /* the store itself says how often it really looks */
#define RETRY_FAILED_MS 10000

enum kind { LIST, SPACE, REMOVE };
enum lane_number { LANE_LIST, LANE_WORK, LANES_N };

struct task {
    struct task *next;
    enum kind kind;
    char name[];
};
struct lane {
    struct cw_caching_store *store;
    struct cw_thread thread;
    struct cw_cond cond;
    struct task *first, *last; /* lock: mutex */
};
struct cw_caching_store {
    struct cw_caching *caching; /* loop */
    struct cw_loop *loop;
    char *url;
    struct cw_mutex mutex, opening;
    struct cw_store *store; /* lock: opening, while it is opened */
    struct lane lanes[LANES_N];
    atomic_bool stop;
    bool closed;      /* loop: what is still posted is dropped */
    bool space_asked; /* loop */
};
struct file {
    char *name;
    uint64_t bytes;
    int64_t mtime_ms;
};
struct result {
    struct cw_caching_store *store;
    enum kind kind;
    bool more; /* of a listing: there is more to come */
    int rc;
    struct cw_err err;
    char *name; /* REMOVE */
    uint64_t total, free;
    struct file files[BATCH];
    size_t files_n;
};

/* ---- on the loop ---- */

static void result_free(struct result *result)
{
    for (size_t i = 0; i < result->files_n; i++)
        cw_mem_free(result->files[i].name);
    cw_mem_free(result->name);
    cw_mem_free(result);
}

static bool is_away(int rc)
{
    return rc == CW_E_UNAVAILABLE || rc == CW_E_TIMEOUT;
}

static void set_away(struct cw_caching *caching, bool away, const char *why)
{
    snprintf(caching->why, sizeof(caching->why), "%s", away ? why : "");
    if (caching->away == away)
        return;
    caching->away = away;
    if (away)
        cw_log_warn(CW_LOG_MOD, "the cache is away, jobs compute: %s", why);
    else
        cw_log_info(CW_LOG_MOD, "the cache is there again: %s", caching->d->options.cache_store);
    caching->scan_due = true; /* when it is back: who knows what happened to it */
    cw_caching_jobs_changed(caching);
}

static void take_files(struct cw_caching *caching, const struct result *result)
{
    struct cw_catalogue *catalogue = caching->catalogue;
    for (size_t i = 0; i < result->files_n; i++) {
        const struct file *file = &result->files[i];
        if (cw_caching_is_doomed(caching, file->name, false))
            continue;
        bool known = cw_catalogue_chunk(catalogue, file->name) != NULL;
        if (!cw_catalogue_put(catalogue, file->name, file->bytes, file->mtime_ms)) {
            caching->scan_strange++;
        } else if (!known) {
            caching->scan_added++;
        }
    }
}

static void listed(struct cw_caching *caching, const struct result *result)
{
    take_files(caching, result);
    if (result->more)
        return;
    caching->scanning = false;
    caching->listed = true;
    uint64_t removed = 0;
    if (result->rc == 0) {
        removed = cw_catalogue_scan_end(caching->catalogue);
        cw_log_info(CW_LOG_MOD,
                    "the cache has %llu chunks of %llu bytes: %llu were not known, %llu are gone "
                    "(%llu files are none)",
                    (unsigned long long)caching->catalogue->chunks_n,
                    (unsigned long long)caching->catalogue->bytes,
                    (unsigned long long)caching->scan_added, (unsigned long long)removed,
                    (unsigned long long)caching->scan_strange);
    } else {
        caching->scan_due = true;
        caching->scan_ms = cw_clock_ms() + (is_away(result->rc) ? RETRY_AWAY_MS : RETRY_FAILED_MS);
        if (!is_away(result->rc))
            cw_log_warn(CW_LOG_MOD, "the cache cannot be listed, it is tried again: %s",
                        result->err.msg);
    }
    cw_caching_doomed_forget(caching);
    cw_caching_scan_answer(caching, result->rc, result->err.msg, removed, false);
    if (caching->scan_waiters) /* who came while it was under way */
        cw_caching_store_list(caching->store);
    caching->quota_due = true;
}

static void on_result(void *arg)
{
    struct result *result = arg;
    struct cw_caching_store *store = result->store;
    struct cw_caching *caching = store->caching;
    if (store->closed) {
        result_free(result);
        return;
    }
    if (is_away(result->rc))
        set_away(caching, true, result->err.msg);
    else if (!result->more && result->rc == 0)
        set_away(caching, false, "");
    switch (result->kind) {
    case LIST:
        listed(caching, result);
        break;
    case SPACE:
        store->space_asked = false;
        if (result->rc == 0 || !is_away(result->rc)) {
            caching->store_total = result->total; /* 0: it does not know */
            caching->store_free = result->free;
        }
        caching->quota_due = true;
        break;
    case REMOVE:
    default:
        cw_caching_deleted(caching, result->name, result->rc, result->err.msg);
        break;
    }
    cw_caching_wake(caching);
    result_free(result);
}

/* ---- on the threads ---- */

static struct result *result_new(struct cw_caching_store *store, enum kind kind)
{
    struct result *result = CW_NEW(struct result);
    result->store = store;
    result->kind = kind;
    return result;
}

static struct cw_store *get_store(struct cw_caching_store *store, struct cw_err *err)
{
    cw_mutex_lock(&store->opening);
    if (!store->store && cw_store_open_lazily(store->url, &store->store, err) != 0)
        store->store = NULL;
    struct cw_store *opened = store->store;
    cw_mutex_unlock(&store->opening);
    return opened;
}

struct listing {
    struct cw_caching_store *store;
    struct result *result;
};

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct listing *listing = arg;
    struct cw_caching_store *store = listing->store;
    if (atomic_load(&store->stop))
        return CW_E_CANCELLED;
    struct result *result = listing->result;
    result->files[result->files_n++] = (struct file){cw_mem_strdup(name), bytes, mtime_ms};
    if (result->files_n == BATCH) {
        result->more = true;
        cw_loop_post(store->loop, on_result, result);
        listing->result = result_new(store, LIST);
    }
    return 0;
}

static struct result *run(struct cw_caching_store *store, const struct task *task)
{
    struct listing listing = {store, result_new(store, task->kind)};
    struct result *result = listing.result;
    struct cw_store *opened = get_store(store, &result->err);
    if (!opened) {
        result->rc = result->err.code;
        result->name = task->kind == REMOVE ? cw_mem_strdup(task->name) : NULL;
        return result;
    }
    switch (task->kind) {
    case LIST: {
        struct cw_err err = {0};
        int rc = cw_store_list(opened, "", on_file, &listing, &err);
        result = listing.result;
        result->rc = rc;
        result->err = err;
        break;
    }
    case SPACE:
        result->rc = cw_store_space(opened, &result->total, &result->free, &result->err);
        break;
    case REMOVE:
    default:
        result->name = cw_mem_strdup(task->name);
        result->rc = cw_store_remove(opened, task->name, &result->err);
        break;
    }
    return result;
}

static void lane_run(void *arg)
{
    struct lane *lane = arg;
    struct cw_caching_store *store = lane->store;
    cw_mutex_lock(&store->mutex);
    while (!atomic_load(&store->stop)) {
        struct task *task = lane->first;
        if (!task) {
            cw_cond_wait(&lane->cond, &store->mutex);
            continue;
        }
        lane->first = task->next;
        cw_mutex_unlock(&store->mutex);
        cw_loop_post(store->loop, on_result, run(store, task));
        cw_mem_free(task);
        cw_mutex_lock(&store->mutex);
    }
    cw_mutex_unlock(&store->mutex);
}

/* ---- from the loop ---- */

static void push(struct cw_caching_store *store, enum kind kind, const char *name)
{
    struct lane *lane = &store->lanes[kind == LIST ? LANE_LIST : LANE_WORK];
    size_t n = strlen(name) + 1;
    struct task *task = cw_mem_new(sizeof(*task) + n);
    task->kind = kind;
    memcpy(task->name, name, n);
    cw_mutex_lock(&store->mutex);
    *(lane->first ? &lane->last->next : &lane->first) = task;
    lane->last = task;
    cw_cond_signal(&lane->cond);
    cw_mutex_unlock(&store->mutex);
}

struct cw_caching_store *cw_caching_store_open(struct cw_caching *caching, const char *url)
{
    static const char *const names[LANES_N] = {"cachew-list", "cachew-evict"};
    struct cw_caching_store *store = CW_NEW(struct cw_caching_store);
    store->caching = caching;
    store->loop = caching->d->loop;
    store->url = cw_mem_strdup(url);
    cw_mutex_init(&store->mutex);
    cw_mutex_init(&store->opening);
    for (int i = 0; i < LANES_N; i++) {
        store->lanes[i].store = store;
        cw_cond_init(&store->lanes[i].cond);
        cw_thread_start(&store->lanes[i].thread, names[i], lane_run, &store->lanes[i]);
    }
    return store;
}

void cw_caching_store_list(struct cw_caching_store *store)
{
    struct cw_caching *caching = store->caching;
    if (caching->scanning)
        return;
    caching->scanning = true;
    caching->scan_due = false;
    caching->scan_strange = caching->scan_added = caching->gone_since_scan = 0;
    cw_catalogue_scan_begin(caching->catalogue);
    push(store, LIST, "");
}

void cw_caching_store_space(struct cw_caching_store *store)
{
    if (store->space_asked)
        return;
    store->space_asked = true;
    push(store, SPACE, "");
}

void cw_caching_store_remove(struct cw_caching_store *store, const char *name)
{
    push(store, REMOVE, name);
}

void cw_caching_store_close(struct cw_caching_store *store)
{
    if (!store || store->closed)
        return;
    store->closed = true;
    cw_mutex_lock(&store->mutex);
    atomic_store(&store->stop, true);
    for (int i = 0; i < LANES_N; i++)
        cw_cond_signal(&store->lanes[i].cond);
    cw_mutex_unlock(&store->mutex);
    for (int i = 0; i < LANES_N; i++)
        cw_thread_join(&store->lanes[i].thread);
    cw_store_close(cw_steal(&store->store));
}

void cw_caching_store_free(struct cw_caching_store *store)
{
    if (!store)
        return;
    cw_caching_store_close(store);
    for (int i = 0; i < LANES_N; i++) {
        for (struct task *task = store->lanes[i].first, *next; task; task = next) {
            next = task->next;
            cw_mem_free(task);
        }
        cw_cond_fini(&store->lanes[i].cond);
    }
    cw_mutex_fini(&store->mutex);
    cw_mutex_fini(&store->opening);
    cw_mem_free(store->url);
    cw_mem_free(store);
}
