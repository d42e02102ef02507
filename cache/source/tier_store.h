/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in the cluster's store, many to a file since small files are dear there:
 * "_source/HASH.pack" is
 *   the blocks one after the other, then for each its key, offset, bytes and checksum (rows),
 *   then a tail that says where the rows are.
 * HASH is of the keys. One thread writes packs and makes room (tier_store_write.c), and lists
 * those of other workers (tier_store_list.c); readers look blocks up in memory (tier_store.c).
 * When a pack was last used shows in the time of an empty file "_source/HASH.used", put again at
 * most every ten minutes. */
#ifndef CW_CACHE_SOURCE_TIER_STORE_H
#define CW_CACHE_SOURCE_TIER_STORE_H

#include "base/map.h"
#include "cache/source/tiers.h"

#define CW_SOURCE_PACK_PREFIX "_source/"
#define CW_SOURCE_PACK_MAGIC "CWPACK01"
/* between two listings, when something was not found */
#define CW_SOURCE_LIST_MISSED_NS ((int64_t)3 * 1000000000)

struct cw_source_row {
    uint64_t key_hi, key_lo, offset, bytes, sum;
};
struct cw_source_tail {
    char magic[8];
    uint64_t rows, rows_sum, bytes; /* of the file */
};

struct cw_source_pack;
struct cw_source_place {
    struct cw_source_row row;
    struct cw_source_pack *pack;
};
struct cw_source_pack {
    char *name; /* with the prefix */
    uint64_t bytes;
    struct cw_source_place *places;
    size_t n;
    struct cw_store_file *file; /* open; NULL = not */
    int users;                  /* reads under way */
    bool gone;                  /* freed with the last of them */
    bool listed, used;
    int64_t used_ms; /* as others know it */
    uint64_t opened_at;
};

struct cw_tier_store {
    char *url;
    /* the thread's, and that of who has found a pack; NULL = it cannot be */
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
    struct cw_map places; /* key.lo -> place */
    uint64_t bytes, clock;
    size_t open_n;
    /* the thread's own */
    struct cw_fill_item *pending;
    size_t pending_n, pending_cap;
    uint64_t pending_bytes;
    int64_t listed_ns;
};

/* Takes the places; a pack that is known already is left as it is. */
void cw_tier_store_learn(struct cw_tier_store *s, const char *name, uint64_t bytes,
                         struct cw_source_place *places, size_t n, int64_t used_ms);
/* Its blocks are not found any more. The lock is held. */
void cw_tier_store_forget(struct cw_tier_store *s, struct cw_source_pack *p);
/* Asks the store which packs there are. For the tier's thread. */
void cw_tier_store_list(struct cw_tier_store *s);

#endif
