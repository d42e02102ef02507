/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of source files, kept where they are nearer than the files (docs/cache.md, "Source
 * cache").
 *
 *   memory   of this process: least recently used goes
 *   dir      a directory on a local disk, shared by the processes of a host (tier_dir.c)
 *   store    the cluster's cache store, shared by all workers (tier_store.c)
 *   origin   the files themselves
 *
 * A read asks them in this order; what comes from a later one is put into the earlier ones
 * behind the reader's back: bounded memory, and what does not fit into it is not kept. A block
 * is found by (path, size, mtime, number), so one of a file that changed is never given out,
 * whatever the job's identity of files overlooks; jobs that have sums of their files (sample,
 * content) have blocks of their own, by that sum too, and where the sum is of all bytes
 * (content), by it in mtime's place. Who reads has opened the file and compared it. No failure
 * of a tier makes a read fail: it goes on to the next. */
#ifndef CW_CACHE_SOURCE_BLOCK_CACHE_H
#define CW_CACHE_SOURCE_BLOCK_CACHE_H

#include "cache/store/store.h"
#include "format/source_file.h"

/* A file that changed so lately might change again without its time showing it: it is read as if
 * there were no cache. */
#define CW_SOURCE_SETTLE_MS 2000
/* What was used so lately does not make room for something new (but for one block in 16, in the
 * directory): an epoch that is larger than the quota would otherwise find nothing of what it put
 * there itself. */
#define CW_SOURCE_IDLE_MS ((int64_t)3600 * 1000)

struct cw_source_cache;
struct cw_source_cache_options {
    /* bytes for all blocks in memory, those that wait to be written included; 0 = 256 MiB, at
     * least 8 MiB */
    uint64_t memory;
    const char *dir;    /* NULL = none; made if it is not there */
    uint64_t dir_bytes; /* quota; 0 = 10 GiB */
    int64_t idle_ms;    /* 0 = CW_SOURCE_IDLE_MS; for tests */
};
int cw_source_cache_new(const struct cw_source_cache_options *options,
                        struct cw_source_cache **ret_cache, struct cw_err *err);
/* What waits for the store is written first if it answers. No read may be under way. Accepts
 * NULL. */
void cw_source_cache_free(struct cw_source_cache *cache);
/* Adds the store as a tier, with a quota in bytes; it is opened on a thread. Of a second call
 * only the quota counts. */
void cw_source_cache_set_store(struct cw_source_cache *cache, const char *url, uint64_t quota);
/* What to give to cw_source_hook_set. */
const struct cw_source_hook *cw_source_cache_hook(struct cw_source_cache *cache);

/* Any thread. */
enum cw_source_tier {
    CW_SOURCE_MEMORY,
    CW_SOURCE_DIR,
    CW_SOURCE_STORE,
    CW_SOURCE_ORIGIN,
    CW_SOURCE_TIERS_N
};
struct cw_source_counts {
    bool there;
    /* now; of dir and store: of all processes, as far as this one knows */
    uint64_t bytes, capacity;
    uint64_t hits, hit_bytes; /* origin: reads */
    uint64_t misses;
    uint64_t filled_bytes; /* put there by this process */
    uint64_t refused;      /* blocks not put there: it is full, or memory is */
    uint64_t damaged;      /* blocks that failed their checks */
    uint64_t pending;      /* bytes that wait to be put there */
    char trouble[200];     /* the last thing that failed, "" = nothing */
};
void cw_source_cache_counts(struct cw_source_cache *cache,
                            struct cw_source_counts ret_counts[CW_SOURCE_TIERS_N]);
const char *cw_source_tier_name(enum cw_source_tier tier);

#endif
