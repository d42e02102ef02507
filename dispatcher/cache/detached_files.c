/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes the files of caches that were detached: chunks, packs of source blocks, and files of store
 * benchmarks; others stay. The store is listed until a listing finds none of them that began after
 * every worker had closed the store, since a worker may still write. Such a listing also removes the
 * temporary files of writers that have died. The row in state.db stays until then, so that the next
 * dispatcher goes on. */
#include <stdio.h>
#include <string.h>

#include "cache/source/tier_store.h"
#include "cache/store/store.h"
#include "dispatcher/cache/cache_int.h"
#include "dispatcher/message/message.h"
#include "format/chunk.h"
#include "format/kept_index.h"

#define LOOK_MS 1000
#define GONE_MAX 100 /* The number of caches that are remembered after their files are deleted. */
#define LOOK_AWAY_MS 5000 /* The pause before an unavailable store is listed again. */

struct cw_leaving_cache {
    struct cw_dispatcher *d;
    struct cw_leaving_cache *next;
    uint64_t id;
    char *name, *url, *tenant;
    int64_t created_ms, used_ms; /* wall time */
    uint64_t row_seq;            /* No file is deleted before all writes up to this are stored. */
    bool begun;                  /* It was listed once, or is being listed. */
    struct cw_cache_io *store;   /* NULL until it is started */
    struct cw_timer *timer;
    struct cw_map told; /* The ids of the workers that were told to close the store and have not. */
    bool listing;
    bool sure;           /* When the listing began, no worker had the store open. */
    uint64_t removing_n; /* The number of files that were found and are not deleted yet. */
    uint64_t found_n;    /* The number of files that the listing has found. */
    char why[256];       /* Why the store is unavailable; "": it answers. */
};

static struct cw_leaving_cache *find_in(struct cw_leaving_cache *left, uint64_t id)
{
    while (left && left->id != id)
        left = left->next;
    return left;
}

static struct cw_leaving_cache *find(const struct cw_dispatcher *d, uint64_t id)
{
    return find_in(d->leaving_caches, id);
}

static void free_one(struct cw_leaving_cache *left)
{
    cw_map_fini(&left->told);
    cw_mem_free(left->name);
    cw_mem_free(left->url);
    cw_mem_free(left->tenant);
    cw_mem_free(left);
}

static struct cw_state_cache row_of(const struct cw_leaving_cache *left, bool gone)
{
    return (struct cw_state_cache){.id = left->id,
                                   .name = left->name,
                                   .url = left->url,
                                   .tenant = left->tenant,
                                   .leaving = !gone,
                                   .gone = gone,
                                   .created_ms = left->created_ms,
                                   .used_ms = left->used_ms};
}

/* ---- caches whose files are deleted ---- */

static void forget_one(struct cw_dispatcher *d, struct cw_leaving_cache **at)
{
    struct cw_leaving_cache *left = *at;
    *at = left->next;
    cw_state_remove_cache(d->state, left->id);
    free_one(left);
}

static void remember(struct cw_dispatcher *d, struct cw_leaving_cache *left)
{
    left->next = d->gone_caches;
    d->gone_caches = left;
    struct cw_leaving_cache **at = &d->gone_caches;
    for (size_t n = 0; *at && n < GONE_MAX; n++)
        at = &(*at)->next;
    while (*at)
        forget_one(d, at);
}

void cw_leaving_forget(struct cw_dispatcher *d, const char *url)
{
    for (struct cw_leaving_cache **at = &d->gone_caches; *at;) {
        if (cw_store_urls_overlap((*at)->url, url))
            forget_one(d, at);
        else
            at = &(*at)->next;
    }
}

/* ---- workers ---- */

static void tell(struct cw_worker *worker, uint64_t id, bool keep)
{
    if (!worker->said_hello || !worker->named_caches)
        return;
    struct cw_leaving_cache *left = find(worker->d, id);
    Cachew__V1__LeaveCache leave = CACHEW__V1__LEAVE_CACHE__INIT;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    leave.cache = id;
    leave.keep = keep;
    if (left)
        leave.url = left->url;
    command.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_LEAVE_CACHE;
    command.leave_cache = &leave;
    if (left)
        (void)cw_map_set(&left->told, worker->id, left);
    cw_worker_send(worker, &command);
}

void cw_leaving_tell(struct cw_dispatcher *d, uint64_t id, bool keep)
{
    for (struct cw_worker *worker = d->workers; keep && worker; worker = worker->next)
        tell(worker, id, true);
}

/* A worker that was taken for lost, and has written on, has the store of a cache open whose files are
 * deleted: they are deleted once more. */
static void begin_again(struct cw_dispatcher *d, uint64_t id)
{
    struct cw_leaving_cache *left = find_in(d->gone_caches, id), **at = &d->gone_caches;
    if (!left)
        return;
    while (*at != left)
        at = &(*at)->next;
    *at = left->next;
    const struct cw_state_cache row = row_of(left, false);
    cw_state_put_cache(d->state, &row);
    cw_leaving_begin(d, &row);
    free_one(left);
    cw_leaving_start(d);
}

void cw_leaving_hello(struct cw_worker *worker, const uint64_t *open, size_t n)
{
    for (size_t i = 0; i < n; i++)
        begin_again(worker->d, open[i]);
    for (const struct cw_leaving_cache *left = worker->d->leaving_caches; left; left = left->next)
        tell(worker, left->id, false);
    for (size_t i = 0; i < n; i++)
        if (!cw_cache_by_id(worker->d, open[i]) && !find(worker->d, open[i]))
            tell(worker, open[i], true);
}

void cw_leaving_confirmed(struct cw_worker *worker, uint64_t id)
{
    struct cw_leaving_cache *left = find(worker->d, id);
    if (left)
        (void)cw_map_remove(&left->told, worker->id);
}

void cw_leaving_worker_gone(struct cw_worker *worker)
{
    for (struct cw_leaving_cache *left = worker->d->leaving_caches; left; left = left->next)
        (void)cw_map_remove(&left->told, worker->id);
}

/* ---- files ---- */

static void look(struct cw_leaving_cache *left)
{
    left->begun = true;
    left->listing = true;
    /* Workers of the dispatcher before this one may come back, and have the store open. */
    left->sure = left->told.n == 0 && left->d->expected_workers.n == 0;
    left->found_n = 0;
    if (left->sure)
        cw_cache_io_list_unwritten(left->store);
    else
        cw_cache_io_list(left->store);
}

static bool is_ours(const char *name)
{
    struct cw_chunk_name parts;
    return cw_chunk_name_parse(name, &parts) || cw_str_starts(name, CW_SOURCE_PACK_PREFIX) ||
           cw_str_starts(name, CW_KEPT_INDEX_PREFIX) ||
           cw_str_starts(name, CW_BENCHMARK_FILE_PREFIX);
}

static void free_io(void *arg)
{
    cw_cache_io_free(arg);
}

static void end(struct cw_leaving_cache *left)
{
    struct cw_leaving_cache **at = &left->d->leaving_caches;
    while (*at != left)
        at = &(*at)->next;
    *at = left->next;
    cw_log_info(CW_LOG_MOD, "cache %s: its files are deleted", left->name);
    const struct cw_state_cache row = row_of(left, true);
    cw_state_put_cache(left->d->state, &row);
    cw_timer_free(cw_steal(&left->timer));
    cw_cache_io_close(left->store);
    /* Results that its threads have posted come before this call. */
    cw_loop_post(left->d->loop, free_io, cw_steal(&left->store));
    remember(left->d, left);
}

static void on_files(struct cw_leaving_cache *left, const struct cw_cache_io_result *result)
{
    for (size_t i = 0; i < result->files_n; i++) {
        if (!is_ours(result->files[i].name))
            continue;
        left->found_n++;
        left->removing_n++;
        cw_cache_io_remove(left->store, result->files[i].name);
    }
    if (result->more)
        return;
    left->listing = false;
    bool done = result->rc == 0 && left->sure && left->found_n == 0;
    if (done)
        end(left);
    else
        cw_timer_start(left->timer, result->rc == 0 ? LOOK_MS : LOOK_AWAY_MS, 0);
}

static void on_result(void *arg, const struct cw_cache_io_result *result)
{
    struct cw_leaving_cache *left = arg;
    bool failed = result->rc != 0 && result->rc != CW_E_NOT_FOUND;
    if (failed && left->why[0] == '\0')
        cw_log_warn(CW_LOG_MOD, "cache %s: its files cannot be deleted now: %s", left->name,
                    result->err.msg);
    if (failed || !result->more)
        snprintf(left->why, sizeof(left->why), "%.255s", failed ? result->err.msg : "");
    if (result->kind == CW_CACHE_IO_LIST) {
        on_files(left, result);
    } else {
        left->removing_n--; /* A file that could not be deleted is found again. */
        cw_fault_point("dispatcher.cache_leaving");
    }
}

static void on_timer(void *arg)
{
    struct cw_leaving_cache *left = arg;
    if (left->removing_n > 0)
        cw_timer_start(left->timer, LOOK_MS, 0);
    else if (!left->listing)
        look(left);
}

/* ---- beginning and end ---- */

void cw_leaving_begin(struct cw_dispatcher *d, const struct cw_state_cache *row)
{
    struct cw_leaving_cache *left = CW_NEW(struct cw_leaving_cache);
    left->d = d;
    left->id = row->id;
    left->name = cw_mem_strdup(row->name);
    left->url = cw_mem_strdup(row->url);
    left->tenant = cw_mem_strdup(row->tenant);
    left->created_ms = row->created_ms;
    left->used_ms = row->used_ms;
    left->row_seq = cw_state_seq(d->state);
    if (row->gone) {
        remember(d, left);
        return;
    }
    left->next = d->leaving_caches;
    d->leaving_caches = left;
}

void cw_leaving_start(struct cw_dispatcher *d)
{
    for (struct cw_leaving_cache *left = d->leaving_caches; left; left = left->next) {
        if (left->store)
            continue;
        left->timer = cw_timer_new(d->loop, on_timer, left);
        left->store = cw_cache_io_open(d->loop, left->url, on_result, left);
        for (struct cw_worker *worker = d->workers; worker; worker = worker->next)
            tell(worker, left->id, false);
    }
    cw_leaving_stored(d);
}

/* Until then the next dispatcher would have the cache, and miss what was deleted. */
void cw_leaving_stored(struct cw_dispatcher *d)
{
    for (struct cw_leaving_cache *left = d->leaving_caches; left; left = left->next)
        if (left->store && !left->begun && cw_state_is_stored(d->state, left->row_seq))
            look(left);
}

void cw_leaving_close(struct cw_dispatcher *d)
{
    for (struct cw_leaving_cache *left = d->leaving_caches; left; left = left->next) {
        left->begun = true; /* Nothing begins any more. */
        cw_timer_free(cw_steal(&left->timer));
        cw_cache_io_close(left->store);
    }
}

void cw_leaving_free(struct cw_dispatcher *d)
{
    for (struct cw_leaving_cache *left; (left = d->leaving_caches) != NULL;) {
        d->leaving_caches = left->next;
        cw_cache_io_free(left->store);
        free_one(left);
    }
    for (struct cw_leaving_cache *left; (left = d->gone_caches) != NULL;) {
        d->gone_caches = left->next;
        free_one(left);
    }
}

/* ---- questions ---- */

struct cw_leaving_cache *cw_leaving_next(const struct cw_dispatcher *d,
                                         const struct cw_leaving_cache *leaving)
{
    return leaving ? leaving->next : d->leaving_caches;
}

struct cw_leaving_facts cw_leaving_facts(const struct cw_leaving_cache *left)
{
    return (struct cw_leaving_facts){.id = left->id,
                                     .name = left->name,
                                     .url = left->url,
                                     .tenant = left->tenant,
                                     .why = left->why,
                                     .created_ms = left->created_ms,
                                     .used_ms = left->used_ms,
                                     .files_left = left->removing_n};
}
