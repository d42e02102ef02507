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
                          struct cw_caching_waiter *waiter);
/* written: it has been, again */
bool cw_caching_is_doomed(struct cw_caching *caching, const char *name, bool written);
void cw_caching_hand_doomed(struct cw_caching *caching);
void cw_caching_deleted(struct cw_caching *caching, const char *name, int rc, const char *why);
/* to all that wait for deletions */
void cw_caching_evict_answer(struct cw_caching *caching, int rc, const char *why);
void cw_caching_doomed_forget(struct cw_caching *caching); /* a listing is done */

/* ---- cache_store_io.c ---- */
/* ---- cache_store_io.c ---- */
struct cw_caching_store *cw_caching_store_open(struct cw_caching *caching, const char *url);
void cw_caching_store_close(struct cw_caching_store *store); /* waits for what is under way */
void cw_caching_store_free(struct cw_caching_store *store);  /* when the loop is gone */
void cw_caching_store_space(struct cw_caching_store *store);
void cw_caching_store_remove(struct cw_caching_store *store, const char *name);

#endif
