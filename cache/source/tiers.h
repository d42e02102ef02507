/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the source cache: blocks in memory (block_cache.c), queues towards slower tiers
 * (fill_queue.c), the directory (tier_dir.c), packs in the store (tier_store.h). */
#ifndef CW_CACHE_TIERS_H
#define CW_CACHE_TIERS_H

#include <stdatomic.h>
#include "base/buf.h"
#include "base/hash.h"
#include "base/thread.h"
#include "cache/source/block_cache.h"

/* Counters of a tier: any thread, atomic, but the text. */
struct cw_source_tally {
    _Atomic uint64_t hits, hit_bytes, misses, filled_bytes, refused, damaged;
    struct cw_mutex mutex;
    char trouble[200]; /* lock: mutex */
};
void cw_source_tally_trouble(struct cw_source_tally *tally, const char *text);
void cw_source_tally_read(struct cw_source_tally *tally, struct cw_source_counts *ret_counts);

/* ---- blocks that wait to be written ---- */
struct cw_source_item {
    struct cw_hash key;
    struct cw_buf *buf; /* one ref */
};
struct cw_source_queue {
    struct cw_mutex mutex;
    struct cw_cond more, room;
    struct cw_source_item *v; /* a ring; lock: mutex, as all that follows */
    size_t first, n, cap;
    uint64_t bytes, limit;
    bool stopping;
    _Atomic uint64_t pending; /* bytes in it, or taken and not yet dealt with */
    _Atomic uint64_t refused; /* for lack of room */
};
void cw_source_queue_init(struct cw_source_queue *queue, uint64_t limit);
void cw_source_queue_fini(struct cw_source_queue *queue);
/* Adds a ref of buf. false: no room (without `wait`), it is there already, or it stops. */
bool cw_source_queue_push(struct cw_source_queue *queue, struct cw_hash key, struct cw_buf *buf,
                          bool wait);
/* 1 = an item, 0 = none until the deadline (cw_clock_ns; INT64_MAX = none), -1 = it stops and is
 * empty. */
int cw_source_queue_pop(struct cw_source_queue *queue, int64_t deadline_ns,
                        struct cw_source_item *ret_item);
/* drops it */
void cw_source_queue_done(struct cw_source_queue *queue, struct cw_source_item *item);
void cw_source_queue_stop(struct cw_source_queue *queue);

/* ---- directory ---- */
struct cw_source_dir;
int cw_source_dir_new(const struct cw_source_cache_options *options, uint64_t queue_limit,
                      struct cw_source_dir **ret_dir, struct cw_err *err);
void cw_source_dir_free(struct cw_source_dir *dir);
struct cw_source_queue *cw_source_dir_queue(struct cw_source_dir *dir);
/* NULL: it has none, or a damaged one. */
struct cw_buf *cw_source_dir_get(struct cw_source_dir *dir, struct cw_hash key, size_t n);
bool cw_source_dir_has(struct cw_source_dir *dir, struct cw_hash key, size_t n);
bool cw_source_dir_is_full(struct cw_source_dir *dir); /* refused something seconds ago */
void cw_source_dir_counts(struct cw_source_dir *dir, struct cw_source_counts *ret_counts);

/* ---- store ---- */
struct cw_source_packs;
struct cw_source_packs *cw_source_packs_new(const char *url, uint64_t quota, uint64_t queue_limit,
                                            int64_t idle_ms);
void cw_source_packs_free(struct cw_source_packs *packs);
void cw_source_packs_set_quota(struct cw_source_packs *packs, uint64_t quota);
struct cw_source_queue *cw_source_packs_queue(struct cw_source_packs *packs);
struct cw_buf *cw_source_packs_get(struct cw_source_packs *packs, struct cw_hash key, size_t n);
bool cw_source_packs_has(struct cw_source_packs *packs, struct cw_hash key, size_t n);
bool cw_source_packs_is_full(struct cw_source_packs *packs);
void cw_source_packs_counts(struct cw_source_packs *packs, struct cw_source_counts *ret_counts);

#endif
