/* SPDX-License-Identifier: Apache-2.0 */
/* I/O on the store, which may take seconds. Two threads have a queue each: one lists, the other
 * deletes and asks for free space, so a long listing delays nothing. Results are posted to the
 * loop. */
#include "dispatcher/cache/cache_int.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/thread.h"
#include "cache/store/store.h"

enum lane_number { LANE_LIST, LANE_WORK, LANES_N };

struct task {
    struct task *next;
    enum cw_cache_io_kind kind;
    char name[];
};
struct lane {
    struct cw_cache_io *store;
    struct cw_thread thread;
    struct cw_cond cond;
    struct task *first, *last; /* The queue of tasks. `mutex` guards it. */
};
struct cw_cache_io {
    cw_cache_io_fn *on_result; /* The function is called on the loop thread. */
    void *arg;
    struct cw_loop *loop;
    char *url;
    struct cw_mutex mutex, opening;
    /* The store is opened under the lock `opening`, and constant from then on. */
    struct cw_store *store;
    struct lane lanes[LANES_N];
    atomic_bool stop;
    bool closed; /* Results that are posted after this are dropped. Loop thread. */
    /* The store was asked for its free space and has not answered. Loop thread. */
    bool space_asked;
};

/* ---- on the loop thread ---- */

static void result_free(struct cw_cache_io_result *result)
{
    for (size_t i = 0; i < result->files_n; i++)
        cw_mem_free(result->files[i].name);
    cw_mem_free(result->name);
    cw_mem_free(result);
}

static void deliver(void *arg)
{
    struct cw_cache_io_result *result = arg;
    struct cw_cache_io *store = result->store;
    if (!store->closed) {
        store->space_asked = store->space_asked && result->kind != CW_CACHE_IO_SPACE;
        store->on_result(store->arg, result);
    }
    result_free(result);
}

/* ---- on the I/O threads ---- */

static struct cw_cache_io_result *result_new(struct cw_cache_io *store, enum cw_cache_io_kind kind)
{
    struct cw_cache_io_result *result = CW_NEW(struct cw_cache_io_result);
    result->store = store;
    result->kind = kind;
    return result;
}

static struct cw_store *get_store(struct cw_cache_io *store, struct cw_err *err)
{
    cw_mutex_lock(&store->opening);
    if (!store->store && cw_store_open_lazily(store->url, &store->store, err) != 0)
        store->store = NULL;
    struct cw_store *opened = store->store;
    cw_mutex_unlock(&store->opening);
    return opened;
}

struct listing {
    struct cw_cache_io *store;
    struct cw_cache_io_result *result;
};

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct listing *listing = arg;
    struct cw_cache_io *store = listing->store;
    if (atomic_load(&store->stop))
        return CW_E_CANCELLED;
    struct cw_cache_io_result *result = listing->result;
    result->files[result->files_n++] =
        (struct cw_cache_io_file){cw_mem_strdup(name), bytes, mtime_ms};
    if (result->files_n == CW_CACHE_IO_BATCH) {
        result->more = true;
        cw_loop_post(store->loop, deliver, result);
        listing->result = result_new(store, CW_CACHE_IO_LIST);
    }
    return 0;
}

static bool is_listing(enum cw_cache_io_kind kind)
{
    return kind == CW_CACHE_IO_LIST || kind == CW_CACHE_IO_LIST_UNWRITTEN;
}

/* Returns the last result of the listing. */
static struct cw_cache_io_result *run_listing(struct listing *listing, struct cw_store *opened,
                                              bool unwritten)
{
    struct cw_err err = {0};
    int rc = unwritten ? cw_store_list_unwritten(opened, on_file, listing, &err)
                       : cw_store_list(opened, "", on_file, listing, &err);
    listing->result->rc = rc;
    listing->result->err = err;
    return listing->result;
}

static struct cw_cache_io_result *run(struct cw_cache_io *store, const struct task *task)
{
    enum cw_cache_io_kind kind = is_listing(task->kind) ? CW_CACHE_IO_LIST : task->kind;
    struct listing listing = {store, result_new(store, kind)};
    struct cw_cache_io_result *result = listing.result;
    struct cw_store *opened = get_store(store, &result->err);
    if (!opened) {
        result->rc = result->err.code;
        result->name = cw_mem_strdup(task->name);
        return result;
    }
    switch (task->kind) {
    case CW_CACHE_IO_LIST:
    case CW_CACHE_IO_LIST_UNWRITTEN:
        return run_listing(&listing, opened, task->kind == CW_CACHE_IO_LIST_UNWRITTEN);
    case CW_CACHE_IO_SPACE:
        result->rc = cw_store_space(opened, &result->total, &result->free, &result->err);
        break;
    case CW_CACHE_IO_LOOK:
        result->name = cw_mem_strdup(task->name);
        result->rc = cw_store_stat(opened, task->name, &result->total, &result->err);
        break;
    case CW_CACHE_IO_REMOVE:
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
    struct cw_cache_io *store = lane->store;
    cw_mutex_lock(&store->mutex);
    while (!atomic_load(&store->stop)) {
        struct task *task = lane->first;
        if (!task) {
            cw_cond_wait(&lane->cond, &store->mutex);
            continue;
        }
        lane->first = task->next;
        cw_mutex_unlock(&store->mutex);
        cw_loop_post(store->loop, deliver, run(store, task));
        cw_mem_free(task);
        cw_mutex_lock(&store->mutex);
    }
    cw_mutex_unlock(&store->mutex);
}

/* ---- from the loop thread to the I/O threads ---- */

static void push(struct cw_cache_io *store, enum cw_cache_io_kind kind, const char *name)
{
    struct lane *lane = &store->lanes[is_listing(kind) ? LANE_LIST : LANE_WORK];
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

struct cw_cache_io *cw_cache_io_open(struct cw_loop *loop, const char *url,
                                     cw_cache_io_fn *on_result, void *arg)
{
    static const char *const names[LANES_N] = {"cachew-list", "cachew-evict"};
    struct cw_cache_io *store = CW_NEW(struct cw_cache_io);
    store->on_result = on_result;
    store->arg = arg;
    store->loop = loop;
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

void cw_cache_io_list(struct cw_cache_io *store)
{
    push(store, CW_CACHE_IO_LIST, "");
}

void cw_cache_io_list_unwritten(struct cw_cache_io *store)
{
    push(store, CW_CACHE_IO_LIST_UNWRITTEN, "");
}

void cw_cache_io_space(struct cw_cache_io *store)
{
    if (store->space_asked)
        return;
    store->space_asked = true;
    push(store, CW_CACHE_IO_SPACE, "");
}

void cw_cache_io_remove(struct cw_cache_io *store, const char *name)
{
    push(store, CW_CACHE_IO_REMOVE, name);
}

void cw_cache_io_look(struct cw_cache_io *store, const char *name)
{
    push(store, CW_CACHE_IO_LOOK, name);
}

void cw_cache_io_close(struct cw_cache_io *store)
{
    if (!store || store->closed)
        return;
    store->closed = true;
    cw_mutex_lock(&store->mutex);
    atomic_store(&store->stop, true);
    for (int i = 0; i < LANES_N; i++)
        cw_cond_signal(&store->lanes[i].cond);
    cw_mutex_unlock(&store->mutex);
    /* No thread waits for the store, so the dispatcher's end does not, either. */
    cw_mutex_lock(&store->opening);
    if (store->store)
        cw_store_interrupt(store->store);
    cw_mutex_unlock(&store->opening);
    for (int i = 0; i < LANES_N; i++)
        cw_thread_join(&store->lanes[i].thread);
    cw_store_close(cw_steal(&store->store));
}

void cw_cache_io_free(struct cw_cache_io *store)
{
    if (!store)
        return;
    cw_cache_io_close(store);
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
