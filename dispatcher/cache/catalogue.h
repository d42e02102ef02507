/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue: what the cache holds, as tenant -> key (the function of a node) -> chunk. The
 * store decides which chunks exist; the catalogue learns it from a listing and from the workers
 * that write. What keys have cost and saved, and which are pinned, is remembered in state.db.
 *
 *   catalogue.c        the objects and their sums; no I/O, no workers and no jobs
 *   catalogue_evict.c  which chunks are evicted when a quota is reached
 *
 * dispatcher/cache/cache.h says who changes it and who is notified. One loop thread owns all of
 * it. */
#ifndef CW_DISPATCHER_CACHE_CATALOGUE_H
#define CW_DISPATCHER_CACHE_CATALOGUE_H

#include "base/hash.h"
#include "base/map.h"
#include "base/name.h"
#include "dispatcher/state/state.h"
#include "policies/policy.h"

/* Policies do not evict chunks that are younger than this, since nobody can have used them yet. */
#define CW_CATALOGUE_YOUNG_MS 10000

struct cw_catalogue;
struct cw_catalogue_key;
struct cw_worker;

struct cw_catalogue_chunk {
    struct cw_catalogue_key *key;
    /* Chunks of the key, in the order in which they became known. */
    struct cw_catalogue_chunk *prev, *next;
    uint64_t records, bytes;
    int64_t created_ms; /* The wall time at which the chunk was written. */
    /* The number of the last listing that contained the chunk, or that began before it was
     * written. */
    uint64_t seen_by;
    char name[]; /* The name of the chunk's file, with tenant and key. */
};
struct cw_catalogue_names { /* A list of chunk names. It owns the names. */
    char **v;
    size_t n, cap;
};
struct cw_catalogue_totals { /* The totals that a worker reported last for a key. */
    uint64_t hits, misses, lost;
    int64_t last_heard_ms;
};
struct cw_catalogue_tenant {
    char name[CW_TENANT_NAME_MAX + 1];
    uint64_t bytes, chunks_n;
    uint64_t quota; /* The tenant's quota; 0 if it has none. */
    /* Nothing may be written: the tenant has reached its limit and nothing can be evicted. */
    bool full;
};
struct cw_catalogue_key {
    struct cw_catalogue *catalogue;
    struct cw_catalogue_tenant *tenant;
    struct cw_hash key;
    char text[CW_HASH_TEXT_BYTES];
    /* The pipeline, node and operator that built it last; "" if they are not known. */
    char *pipeline, *node, *op;
    uint64_t ids; /* The number of ids of the whole node; 0 if it is not known. */
    struct cw_catalogue_chunk *first, *last;
    uint64_t chunks_n, records, bytes;
    /* The CPU time of those records whose cost was reported, and the number of these records. */
    uint64_t cost_ns, cost_records;
    uint64_t hits, misses, saved_ns;
    /* The wall times of the first chunk and of the last use; used_ms is 0 if the key was never
     * used. */
    int64_t created_ms, used_ms;
    bool pinned;
    /* The number of running jobs that read the key. cw_cache_count_readers computes it. */
    uint64_t readers;
    /* The number of uses by jobs. The key exists at least as long as there is one. */
    uint64_t holders;
    struct cw_map seen; /* Worker id -> struct cw_catalogue_totals. */
    /* The workers that are notified of the key's chunks, and the names that they are to be sent
     * (cache_notify.c). */
    struct cw_map subscribers; /* Worker id -> struct cw_worker. */
    struct cw_catalogue_names added, removed;
    bool notify_due, row_dirty;
    struct cw_catalogue_key *next_notify, *next_row;
};

struct cw_catalogue {
    uint64_t cache_id;        /* The id of the named cache; 0: the default one. */
    struct cw_strmap tenants; /* All tenants: name -> tenant. */
    struct cw_strmap keys;    /* All keys: TENANT/KEY -> key. */
    struct cw_strmap chunks;  /* All chunks: name -> chunk. */
    const struct cw_evict_policy *evict;
    uint64_t quota; /* The quota of the whole cache; 0 if only the store's size limits it. */
    /* Watermarks, as percent of a quota: at the high one eviction begins, down to the low one. */
    uint64_t high, low;
    /* Returns the quota of a new tenant; NULL if no tenant has one. */
    uint64_t (*tenant_quota)(void *arg, const char *name);
    void *tenant_quota_arg;
    uint64_t bytes, chunks_n;
    uint64_t scan; /* The number of the last listing that began. */
    /* The first key with names to be sent, and the first with a row to be written. */
    struct cw_catalogue_key *notify_first, *row_first;
    uint64_t evicted, damaged, gone;
};

struct cw_catalogue *cw_catalogue_new(const struct cw_evict_policy *evict,
                                      uint64_t quota) CW_MUST_CHECK;
/* Frees the catalogue and all that is in it. NULL is accepted. */
void cw_catalogue_free(struct cw_catalogue *catalogue);

/* Returns the tenant, which is created if it is new. The name must be valid (base/name.h); "" means
 * "default". */
struct cw_catalogue_tenant *cw_catalogue_tenant(struct cw_catalogue *catalogue, const char *name);
/* Returns the key of the tenant, or NULL if the catalogue has none. */
struct cw_catalogue_key *cw_catalogue_find(const struct cw_catalogue *catalogue, const char *tenant,
                                           struct cw_hash key);
/* Returns the key, which is created if it is new. */
struct cw_catalogue_key *cw_catalogue_key(struct cw_catalogue *catalogue, const char *tenant,
                                          struct cw_hash key);
/* Frees a key that has no chunks, that nobody uses and that is not pinned. Returns whether it
 * did. */
bool cw_catalogue_drop_key(struct cw_catalogue_key *key);
/* The key's row in state.db must be written. */
void cw_catalogue_mark_dirty(struct cw_catalogue_key *key);
void cw_catalogue_set_builder(struct cw_catalogue_key *key, const char *pipeline, const char *node,
                              const char *op, uint64_t ids);

/* Adds a chunk that exists. If it is known already, its size is updated. Returns NULL if the name
 * is not one of a chunk. */
struct cw_catalogue_chunk *cw_catalogue_put(struct cw_catalogue *catalogue, const char *name,
                                            uint64_t bytes, int64_t created_ms);
struct cw_catalogue_chunk *cw_catalogue_chunk(const struct cw_catalogue *catalogue,
                                              const char *name);
/* Removes the chunk; its key stays. Workers that use the key are notified later. */
void cw_catalogue_remove(struct cw_catalogue_chunk *chunk);

/* Between begin and end a listing puts each chunk that it finds. end removes the others, except
 * those that were added meanwhile. */
void cw_catalogue_scan_begin(struct cw_catalogue *catalogue);
uint64_t cw_catalogue_scan_end(struct cw_catalogue *catalogue);

/* Adds what is new in the totals that a worker reported for a key. `base`: an earlier dispatcher
 * has counted them already. Returns the number of records that were lost since the last report. */
uint64_t cw_catalogue_count(struct cw_catalogue_key *key, uint64_t worker_id,
                            const struct cw_catalogue_totals *totals, bool base);
/* Forgets the totals of workers that have reported nothing of a key for silent_ms. */
void cw_catalogue_forget_silent(struct cw_catalogue *catalogue, int64_t now_ms, int64_t silent_ms);

void cw_catalogue_load_row(struct cw_catalogue *catalogue, const struct cw_state_cache_key *row);
void cw_catalogue_names_add(struct cw_catalogue_names *names, const char *name);
void cw_catalogue_names_clear(struct cw_catalogue_names *names);

/* ---- catalogue_evict.c ---- */

struct cw_catalogue_pick {
    /* The tenant whose chunks may be picked; NULL for all tenants. */
    const struct cw_catalogue_tenant *tenant;
    /* The key whose chunks are picked, all of them and whatever their worth; NULL for all keys. */
    const struct cw_catalogue_key *key;
    uint64_t bytes;  /* The number of bytes to pick at least, in the order of the policy. */
    bool all;        /* If set, everything is picked except pinned keys. */
    bool young;      /* If set, chunks that were just written may be picked as well. */
    int64_t wall_ms; /* The present wall time. */
};
/* Picks the chunks to be evicted, those of the least worth first; the caller frees the array.
 * key->readers must be up to date. Pinned keys stay. */
size_t cw_catalogue_pick(struct cw_catalogue *catalogue, const struct cw_catalogue_pick *pick,
                         struct cw_catalogue_chunk ***ret_chunks);

#define CW_CATALOGUE_HIGH 95
#define CW_CATALOGUE_LOW 85
/* Returns how many bytes must be evicted when `bytes` of `limit` are used. That is 0 below the high
 * watermark, and otherwise the number that leaves the low one. */
uint64_t cw_catalogue_excess(const struct cw_catalogue *catalogue, uint64_t bytes, uint64_t limit);

#endif
