/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of cache/ share. */
#ifndef CW_DISPATCHER_CACHE_CACHE_INT_H
#define CW_DISPATCHER_CACHE_CACHE_INT_H

#include "dispatcher/cache/cache.h"

/* ---- named_caches.c ---- */
/* Whether the name is that of the default cache, "" or "default". */
bool cw_cache_is_default(const char *name);
/* Returns the row of a named cache in state.db, which borrows. */
struct cw_state_cache cw_cache_row(const struct cw_cache_service *cache);
void cw_cache_store_row(struct cw_cache_service *cache);

/* ---- cache_plans.c ---- */
/* Recomputes how all jobs use the cache, as cw_job_cache_changed does for one job. */
void cw_cache_jobs_changed(struct cw_cache_service *cache);

/* ---- cache_notify.c ---- */
/* Notifies workers of the chunks that were added or removed in this loop iteration. */
void cw_cache_notify_all(struct cw_cache_service *cache);

/* ---- cache_evict.c ---- */
/* Evicts what exceeds a quota. It is called at the end of a loop iteration. */
void cw_cache_enforce_quotas(struct cw_cache_service *cache);
void cw_cache_delete_name(struct cw_cache_service *cache, const char *name,
                          struct cw_cache_waiter *waiter);
/* Returns whether the file is being deleted, or the listing that is going on may contain it though
 * it is deleted. `written`: a worker reported that it has written the file. Then also if it was
 * deleted a short while ago: the store is asked whether the file is there. */
bool cw_cache_is_pending_delete(struct cw_cache_service *cache, const char *name, bool written);
void cw_cache_send_deletes(struct cw_cache_service *cache);
void cw_cache_deleted(struct cw_cache_service *cache, const char *name, int rc, const char *why);
/* Answers every request that waits for deletions. */
void cw_cache_answer_deletes(struct cw_cache_service *cache, int rc, const char *why);
/* The store was asked for the file: rc is 0, CW_E_NOT_FOUND or another error. */
void cw_cache_looked(struct cw_cache_service *cache, const char *name, int rc, uint64_t bytes);
/* Forgets deletions that were done long ago. */
void cw_cache_forget_deletes(struct cw_cache_service *cache, int64_t now_ms);

/* ---- cache_store_io.c ---- */
#define CW_CACHE_IO_BATCH 256 /* The number of names in one batch of a listing. */
enum cw_cache_io_kind {
    CW_CACHE_IO_LIST,
    CW_CACHE_IO_LIST_UNWRITTEN, /* Results have the kind CW_CACHE_IO_LIST. */
    CW_CACHE_IO_SPACE,
    CW_CACHE_IO_REMOVE,
    CW_CACHE_IO_LOOK, /* Is the file there? */
};
struct cw_cache_io_file {
    char *name;
    uint64_t bytes;
    int64_t mtime_ms;
};
struct cw_cache_io_result {
    struct cw_cache_io *store;
    enum cw_cache_io_kind kind;
    bool more; /* More batches of the listing will come. */
    int rc;
    struct cw_err err;
    char *name; /* The name of the file that was to be removed. */
    uint64_t total, free;
    struct cw_cache_io_file files[CW_CACHE_IO_BATCH];
    size_t files_n;
};
/* The function is called on the loop thread with each result, which is freed afterwards. */
typedef void cw_cache_io_fn(void *arg, const struct cw_cache_io_result *result);
struct cw_cache_io *cw_cache_io_open(struct cw_loop *loop, const char *url,
                                     cw_cache_io_fn *on_result, void *arg);
/* Waits for the operations that have begun; no others are started. */
void cw_cache_io_close(struct cw_cache_io *store);
/* Frees the object. It is called when the loop is gone. */
void cw_cache_io_free(struct cw_cache_io *store);
void cw_cache_io_list(struct cw_cache_io *store);
/* The same for a store into which nobody writes any more: what dead writers have left is removed. */
void cw_cache_io_list_unwritten(struct cw_cache_io *store);
void cw_cache_io_space(struct cw_cache_io *store);
void cw_cache_io_remove(struct cw_cache_io *store, const char *name);
void cw_cache_io_look(struct cw_cache_io *store, const char *name);

#endif
