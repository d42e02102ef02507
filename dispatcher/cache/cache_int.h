/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of cache/. */
#ifndef CW_DISPATCHER_CACHE_CACHE_INT_H
#define CW_DISPATCHER_CACHE_CACHE_INT_H

#include "dispatcher/cache/cache.h"

/* ---- cache_plans.c ---- */
void cw_cache_jobs_changed(struct cw_cache_service *cache); /* the same of all jobs */

/* ---- cache_notify.c ---- */
void cw_cache_notify_all(struct cw_cache_service *cache); /* what was added and removed this turn */

/* ---- cache_evict.c ---- */
void cw_cache_enforce_quotas(
    struct cw_cache_service *cache); /* end of turn: evicts what is too much */
void cw_cache_delete_name(struct cw_cache_service *cache, const char *name,
                          struct cw_cache_waiter *waiter);
/* written: it has been, again */
bool cw_cache_is_pending_delete(struct cw_cache_service *cache, const char *name, bool written);
void cw_cache_send_deletes(struct cw_cache_service *cache);
void cw_cache_deleted(struct cw_cache_service *cache, const char *name, int rc, const char *why);
/* to all that wait for deletions */
void cw_cache_answer_deletes(struct cw_cache_service *cache, int rc, const char *why);
void cw_cache_forget_deletes(struct cw_cache_service *cache); /* a listing is done */

/* ---- cache_store_io.c ---- */
#define CW_CACHE_IO_BATCH 256 /* names of a listing that are delivered at once */
enum cw_cache_io_kind { CW_CACHE_IO_LIST, CW_CACHE_IO_SPACE, CW_CACHE_IO_REMOVE };
struct cw_cache_io_file {
    char *name;
    uint64_t bytes;
    int64_t mtime_ms;
};
struct cw_cache_io_result {
    struct cw_cache_io *store;
    enum cw_cache_io_kind kind;
    bool more; /* of a listing: there is more to come */
    int rc;
    struct cw_err err;
    char *name; /* REMOVE */
    uint64_t total, free;
    struct cw_cache_io_file files[CW_CACHE_IO_BATCH];
    size_t files_n;
};
/* Called on the loop with each result; it is freed afterwards. */
typedef void cw_cache_io_fn(void *arg, const struct cw_cache_io_result *result);
struct cw_cache_io *cw_cache_io_open(struct cw_loop *loop, const char *url,
                                     cw_cache_io_fn *on_result, void *arg);
void cw_cache_io_close(struct cw_cache_io *store); /* waits for what is under way */
void cw_cache_io_free(struct cw_cache_io *store);  /* when the loop is gone */
void cw_cache_io_list(struct cw_cache_io *store);
void cw_cache_io_space(struct cw_cache_io *store);
void cw_cache_io_remove(struct cw_cache_io *store, const char *name);

#endif
