/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the source cache: blocks in memory (block_cache.c), queues towards slower tiers
 * (fill_queue.c), the directory (tier_dir.c), packs in a store (tier_store.h), and the stores of
 * several caches (store_tiers.c). */
#ifndef CW_CACHE_SOURCE_TIERS_H
#define CW_CACHE_SOURCE_TIERS_H

#include <stdatomic.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/thread.h"
#include "cache/source/block_cache.h"

/* Counters of a tier. Any thread changes them; all are atomic but the text. */
struct cw_tier_counters {
    _Atomic uint64_t hits, hit_bytes, misses, filled_bytes, refused, damaged;
    struct cw_mutex mutex;
    char trouble[200]; /* lock: mutex */
};
void cw_tier_counters_error(struct cw_tier_counters *tally, const char *text);
void cw_tier_counters_read(struct cw_tier_counters *tally, struct cw_source_counts *ret_counts);

/* ---- the queue of blocks that wait to be added to a tier ---- */
struct cw_fill_item {
    struct cw_hash key;
    struct cw_buf *buf; /* holds one reference */
};
struct cw_fill_queue {
    struct cw_mutex mutex;
    struct cw_cond more, room;
    struct cw_fill_item *v; /* a ring; lock: mutex, as for all that follows */
    size_t first, n, cap;
    uint64_t bytes, limit;
    bool stopping;
    /* bytes of items in the queue, and of those that were taken and are not dealt with yet */
    _Atomic uint64_t pending;
    _Atomic uint64_t refused; /* number of items refused for lack of room */
};
void cw_fill_queue_init(struct cw_fill_queue *queue, uint64_t limit);
void cw_fill_queue_fini(struct cw_fill_queue *queue);
/* Adds an item with a new reference to buf. Returns false if there is no room (unless `wait` is
 * set), if the block is in the queue already, or if the queue stops. */
bool cw_fill_queue_push(struct cw_fill_queue *queue, struct cw_hash key, struct cw_buf *buf,
                        bool wait);
/* Returns 1 with an item, 0 if none came before the deadline (cw_clock_ns; INT64_MAX: no deadline),
 * or -1 if the queue has been stopped and is empty. */
int cw_fill_queue_pop(struct cw_fill_queue *queue, int64_t deadline_ns,
                      struct cw_fill_item *ret_item);
/* Drops an item that was dealt with. */
void cw_fill_queue_done(struct cw_fill_queue *queue, struct cw_fill_item *item);
void cw_fill_queue_stop(struct cw_fill_queue *queue);

/* ---- the tier in a directory ---- */
struct cw_tier_dir;
int cw_tier_dir_new(const struct cw_source_cache_options *options, uint64_t queue_limit,
                    struct cw_tier_dir **ret_dir, struct cw_err *err);
void cw_tier_dir_free(struct cw_tier_dir *dir);
struct cw_fill_queue *cw_tier_dir_queue(struct cw_tier_dir *dir);
/* Reads a block. Returns NULL if the tier has none, or a damaged one. */
struct cw_buf *cw_tier_dir_get(struct cw_tier_dir *dir, struct cw_hash key, size_t n);
bool cw_tier_dir_has(struct cw_tier_dir *dir, struct cw_hash key, size_t n);
/* Whether a block was refused a few seconds ago. */
bool cw_tier_dir_is_full(struct cw_tier_dir *dir);
void cw_tier_dir_counts(struct cw_tier_dir *dir, struct cw_source_counts *ret_counts);

/* ---- the tier in a store ---- */
struct cw_tier_store;
struct cw_tier_store *cw_tier_store_new(const char *url, uint64_t quota, uint64_t queue_limit,
                                        int64_t idle_ms);
void cw_tier_store_free(struct cw_tier_store *packs);
void cw_tier_store_set_quota(struct cw_tier_store *packs, uint64_t quota);
struct cw_fill_queue *cw_tier_store_queue(struct cw_tier_store *packs);
struct cw_buf *cw_tier_store_get(struct cw_tier_store *packs, struct cw_hash key, size_t n);
bool cw_tier_store_has(struct cw_tier_store *packs, struct cw_hash key, size_t n);
bool cw_tier_store_is_full(struct cw_tier_store *packs);
void cw_tier_store_counts(struct cw_tier_store *packs, struct cw_source_counts *ret_counts);

/* ---- the tiers in the stores of all caches (store_tiers.c); any thread ---- */
struct cw_tier_of_store {
    struct cw_tier_of_store *next;
    uint64_t cache_id; /* 0: the default cache */
    struct cw_tier_store *packs;
    size_t users;  /* number of threads that use it now */
    bool is_going; /* nobody begins to use it any more */
};
struct cw_store_tiers {
    struct cw_mutex mutex;         /* guards the list, and users and is_going of its entries */
    struct cw_cond unused;         /* a tier that is going has no users any more */
    struct cw_tier_of_store *list; /* the latest first */
};
void cw_store_tiers_init(struct cw_store_tiers *tiers);
void cw_store_tiers_fini(struct cw_store_tiers *tiers);
/* Whether the store of a cache is a tier. */
bool cw_store_tiers_has(struct cw_store_tiers *tiers, uint64_t cache_id);
/* Returns the tier of the cache, which stays until it is given back; NULL: there is none. */
struct cw_tier_of_store *cw_store_tiers_take(struct cw_store_tiers *tiers, uint64_t cache_id);
/* Accepts NULL. */
void cw_store_tiers_give(struct cw_store_tiers *tiers, struct cw_tier_of_store *tier);
/* Returns false if the cache has no tier. */
bool cw_store_tiers_set_quota(struct cw_store_tiers *tiers, uint64_t cache_id, uint64_t quota);
/* Adds a tier; takes packs. */
void cw_store_tiers_add(struct cw_store_tiers *tiers, uint64_t cache_id,
                        struct cw_tier_store *packs);
/* Waits until nobody uses the tier of the cache, and frees it. */
void cw_store_tiers_drop(struct cw_store_tiers *tiers, uint64_t cache_id);
/* Returns the bytes that wait to be written, in all stores. */
uint64_t cw_store_tiers_pending(struct cw_store_tiers *tiers);
/* As cw_source_cache_named_counts. */
size_t cw_store_tiers_counts(struct cw_store_tiers *tiers, uint64_t *ret_ids,
                             struct cw_source_counts *ret_counts, size_t max);

#endif
