/* SPDX-License-Identifier: Apache-2.0 */
/* The source cache: it keeps blocks of source files in tiers that are faster than the files
 * themselves (docs/cache.md, "Source cache").
 *
 *   memory   of this process; the least recently used block is evicted
 *   dir      a directory on a local disk, shared by the processes of a host (tier_dir.c)
 *   store    the store of the job's cache, shared by all workers (tier_store.c)
 *   origin   the files themselves
 *
 * A read asks the tiers in this order. A block that came from a later tier is added to the earlier
 * ones in the background, with bounded memory; what does not fit is not kept. The key of a block is
 * a hash of path, size, modification time and number, so a block of a file that has changed is
 * never used, whatever the job's identity of files overlooks. Jobs that have checksums of their
 * files (sample, content) have blocks of their own, whose keys contain that checksum; if it covers
 * all bytes (content), it replaces the modification time. The reader has opened the file and
 * compared its identity before. No failure of a tier makes a read fail: the next tier is asked. */
#ifndef CW_CACHE_SOURCE_BLOCK_CACHE_H
#define CW_CACHE_SOURCE_BLOCK_CACHE_H

#include "cache/store/store.h"
#include "format/source_file.h"

/* A file that changed less than this time ago might change again without a new modification time.
 * It is read as if there were no cache. */
#define CW_SOURCE_SETTLE_MS 2000
/* A block that was used less than this time ago is not removed to make room for a new one (but in
 * the directory one new block in 16 is let in): otherwise an epoch that is larger than the quota
 * would find nothing of what it added itself. */
#define CW_SOURCE_IDLE_MS ((int64_t)3600 * 1000)

struct cw_source_cache;
struct cw_source_cache_options {
    /* Bytes for all blocks in memory, including those that wait to be written; at least 8 MiB; 0
     * means 256 MiB. */
    uint64_t memory;
    const char *dir;    /* path of the directory, which is made if it does not exist; NULL: none */
    uint64_t dir_bytes; /* quota of the directory; 0 means 10 GiB */
    int64_t idle_ms;    /* 0 means CW_SOURCE_IDLE_MS; for tests */
};
int cw_source_cache_new(const struct cw_source_cache_options *options,
                        struct cw_source_cache **ret_cache, struct cw_err *err);
/* Frees the cache. Blocks that wait for the store are written first if it answers. No read may be
 * under way. Accepts NULL. */
void cw_source_cache_free(struct cw_source_cache *cache);
/* Adds the store of a cache as a tier, with a quota in bytes. A thread opens it. A second call for
 * the cache (0: the default one) only changes the quota. Reads look in the store of the cache that
 * their thread uses (cw_source_use_store). */
void cw_source_cache_set_store(struct cw_source_cache *cache, uint64_t cache_id, const char *url,
                               uint64_t quota);
/* Closes the store of a cache, if it is a tier: waits for reads under way, and writes the blocks that
 * wait for it if it answers. Any thread. */
void cw_source_cache_drop_store(struct cw_source_cache *cache, uint64_t cache_id);
/* Returns the hook that makes operators read through the cache (cw_source_hook_set). */
const struct cw_source_hook *cw_source_cache_hook(struct cw_source_cache *cache);

/* The functions and counters below may be used by any thread. */
enum cw_source_tier {
    CW_SOURCE_MEMORY,
    CW_SOURCE_DIR,
    CW_SOURCE_STORE,
    CW_SOURCE_ORIGIN,
    CW_SOURCE_TIERS_N
};
struct cw_source_counts {
    bool there;
    /* bytes that the tier has now, and its quota; for dir and store of all processes together, as
     * far as this process knows */
    uint64_t bytes, capacity;
    uint64_t hits, hit_bytes; /* for origin: the number of reads */
    uint64_t misses;
    uint64_t filled_bytes; /* bytes that this process added */
    /* blocks that were not added because the tier, or the queue to it, was full */
    uint64_t refused;
    uint64_t damaged;  /* blocks that failed their checks */
    uint64_t pending;  /* bytes that wait to be added */
    char trouble[200]; /* the last error; "": there was none */
};
void cw_source_cache_counts(struct cw_source_cache *cache,
                            struct cw_source_counts ret_counts[CW_SOURCE_TIERS_N]);
/* Counts the tiers in the stores of named caches: returns how many there are, at most `max`. */
size_t cw_source_cache_named_counts(struct cw_source_cache *cache, uint64_t *ret_ids,
                                    struct cw_source_counts *ret_counts, size_t max);
const char *cw_source_tier_name(enum cw_source_tier tier);

#endif
