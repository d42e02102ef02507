/* SPDX-License-Identifier: Apache-2.0 */
/* The tier in the cluster's store. Small files are expensive there, so a file holds many blocks: a
 * pack, "_source/HASH.pack". It consists of the blocks one after another, then a row for each block
 * with its key, offset, bytes and checksum, then a tail that says where the rows begin. HASH is the
 * hash of the keys. One thread of each process writes packs and makes room (tier_store_write.c) and
 * lists the packs of other workers (tier_store_list.c); readers look blocks up in memory
 * (tier_store.c). The time when a pack was last used is the modification time of an empty file
 * "_source/HASH.used", which is written again every ten minutes at most. */
#ifndef CW_CACHE_SOURCE_TIER_STORE_H
#define CW_CACHE_SOURCE_TIER_STORE_H

#include "base/map.h"
#include "cache/source/tiers.h"

#define CW_SOURCE_PACK_PREFIX "_source/"
#define CW_SOURCE_PACK_MAGIC "CWPACK01"
/* The time between two listings, if a block was looked for in vain. */
#define CW_SOURCE_LIST_MISSED_NS ((int64_t)3 * 1000000000)

struct cw_source_row {
    uint64_t key_hi, key_lo, offset, bytes, sum;
};
struct cw_source_tail {
    char magic[8];
    /* number of rows, their checksum, and the bytes of the file */
    uint64_t rows, rows_sum, bytes;
};

struct cw_source_pack;
struct cw_source_place {
    struct cw_source_row row;
    struct cw_source_pack *pack;
};
struct cw_source_pack {
    char *name; /* with the folder "_source/" */
    uint64_t bytes;
    struct cw_source_place *places;
    size_t n;
    struct cw_store_file *file; /* NULL: not open */
    int users;                  /* number of reads under way */
    bool gone;                  /* it is freed when the last of these reads ends */
    bool listed, used;
    int64_t used_ms; /* time of its last use, as other processes know it */
    uint64_t opened_at;
};

struct cw_tier_store {
    char *url;
    /* Used by the tier's thread, and by readers that have found a pack; NULL: it cannot be
     * opened. */
    struct cw_store *store;
    _Atomic uint64_t quota;
    int64_t idle_ms;
    uint64_t pack_bytes;
    struct cw_tier_counters tally;
    struct cw_fill_queue queue;
    struct cw_thread thread;
    _Atomic int64_t full_ns;
    _Atomic bool missed;
    struct cw_mutex mutex; /* guards what follows */
    struct cw_strmap packs;
    struct cw_map places; /* maps key.lo to the block's place in a pack */
    uint64_t bytes, clock;
    size_t open_n;
    /* Used by the tier's own thread only. */
    struct cw_fill_item *pending;
    size_t pending_n, pending_cap;
    uint64_t pending_bytes;
    int64_t listed_ns;
};

/* Enters a pack and takes the places of its blocks. If the pack is known already, nothing
 * changes. */
void cw_tier_store_learn(struct cw_tier_store *s, const char *name, uint64_t bytes,
                         struct cw_source_place *places, size_t n, int64_t used_ms);
/* Forgets a pack: its blocks are not found any more. Called with the lock held. */
void cw_tier_store_forget(struct cw_tier_store *s, struct cw_source_pack *p);
/* Asks the store which packs exist. Only the tier's thread calls it. */
void cw_tier_store_list(struct cw_tier_store *s);

#endif
