/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of cache/. */
#ifndef CW_DISPATCHER_CACHE_INT_H
#define CW_DISPATCHER_CACHE_INT_H

#include "dispatcher/cache/cache.h"

/* ---- cache_plans.c ---- */
void cw_caching_jobs_changed(struct cw_caching *caching); /* the same of all jobs */

/* ---- cache_notify.c ---- */
void cw_caching_tell_all(struct cw_caching *caching); /* what was added and removed this turn */

/* ---- cache_evict.c ---- */
/* ---- cache_evict.c ---- */
void cw_caching_quota(struct cw_caching *caching); /* end of turn: evicts what is too much */
void cw_caching_doom_name(struct cw_caching *caching, const char *name,
                          struct cw_cache_waiter *waiter);
/* written: it has been, again */
bool cw_caching_is_doomed(struct cw_caching *caching, const char *name, bool written);
void cw_caching_hand_doomed(struct cw_caching *caching);
void cw_caching_deleted(struct cw_caching *caching, const char *name, int rc, const char *why);
/* to all that wait for deletions */
void cw_caching_evict_answer(struct cw_caching *caching, int rc, const char *why);
void cw_caching_doomed_forget(struct cw_caching *caching); /* a listing is done */

/* ---- cache_store_io.c ---- */
/* ---- cache_store_io.c ---- */
#define CW_CACHE_IO_BATCH 256 /* names of a listing that are delivered at once */
enum cw_cache_io_kind { CW_CACHE_IO_LIST, CW_CACHE_IO_SPACE, CW_CACHE_IO_REMOVE };
struct cw_cache_io_file {
    char *name;
    uint64_t bytes;
    int64_t mtime_ms;
};
struct cw_cache_io_result {
    struct cw_caching_store *store;
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
struct cw_caching_store *cw_caching_store_open(struct cw_loop *loop, const char *url,
                                               cw_cache_io_fn *on_result, void *arg);
void cw_caching_store_close(struct cw_caching_store *store); /* waits for what is under way */
void cw_caching_store_free(struct cw_caching_store *store);  /* when the loop is gone */
void cw_caching_store_list(struct cw_caching_store *store);
void cw_caching_store_space(struct cw_caching_store *store);
void cw_caching_store_remove(struct cw_caching_store *store, const char *name);

#endif
