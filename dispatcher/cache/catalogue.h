/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache holds: tenant -> key (a node's function) -> chunk. Which chunks exist is the
 * store's truth: the catalogue learns it from a listing and from the workers that write. What
 * keys have cost and saved, and which are pinned, is remembered in state.db.
 *
 *   catalogue.c        the objects and their sums; nothing here does I/O or knows workers and
 *                      jobs
 *   catalogue_evict.c  which chunks leave when a quota is reached
 *
 * Who feeds it, and whom it tells: dispatcher/cache/cache.h. One loop thread owns all of it. */
#ifndef CW_DISPATCHER_CACHE_CATALOGUE_H
#define CW_DISPATCHER_CACHE_CATALOGUE_H

#include "base/hash.h"
#include "base/map.h"
#include "base/name.h"
#include "dispatcher/state/state.h"
#include "policies/policy.h"

/* policies leave alone what came into being less than this ago: it was not used yet */
#define CW_CATALOGUE_YOUNG_MS 10000

struct cw_catalogue;
struct cw_catalogue_key;
struct cw_worker;

struct cw_catalogue_chunk {
    struct cw_catalogue_key *key;
    /* of the key, in the order in which they became known */
    struct cw_catalogue_chunk *prev, *next;
    uint64_t records, bytes;
    int64_t created_ms; /* wall */
    uint64_t seen_by;   /* number of the last listing that has it, or began before it was written */
    char name[];        /* with tenant and key */
};
struct cw_catalogue_names { /* owned texts */
    char **v;
    size_t n, cap;
};
struct cw_catalogue_totals { /* of a worker: its last totals for a key */
    uint64_t hits, misses, lost;
    int64_t last_heard_ms;
};
struct cw_catalogue_tenant {
    char name[CW_TENANT_NAME_MAX + 1];
    uint64_t bytes, chunks_n;
    uint64_t quota; /* 0 = none of its own */
    bool full;      /* nothing may be written: above its limit, and nothing can be evicted */
};
struct cw_catalogue_key {
    struct cw_catalogue *catalogue;
    struct cw_catalogue_tenant *tenant;
    struct cw_hash key;
    char text[CW_HASH_TEXT_BYTES];
    char *pipeline, *node, *op; /* who built it last; "" = not known */
    uint64_t ids;               /* of the whole node, 0 = not known */
    struct cw_catalogue_chunk *first, *last;
    uint64_t chunks_n, records, bytes;
    uint64_t cost_ns, cost_records; /* CPU time of records whose cost was told */
    uint64_t hits, misses, saved_ns;
    int64_t created_ms, used_ms; /* wall; used 0 = never */
    bool pinned;
    uint64_t readers;   /* running jobs that read it; counted when it is asked for */
    uint64_t holders;   /* jobs' uses: it stays as long as there is one */
    struct cw_map seen; /* worker id -> cw_catalogue_totals */
    /* Workers that were told of it, and what they are still to be told (cache_notify.c). */
    struct cw_worker **subscribers;
    size_t subscribers_n, subscribers_cap;
    struct cw_catalogue_names added, removed;
    bool notify_due, row_dirty;
    struct cw_catalogue_key *next_notify, *next_row;
};

struct cw_catalogue {
    struct cw_strmap tenants, keys /* by TENANT/KEY */, chunks /* by name */;
    const struct cw_evict_policy *evict;
    uint64_t quota; /* 0 = what the store has */
    /* of a new tenant; NULL = none of its own */
    uint64_t (*tenant_quota)(void *arg, const char *name);
    void *tenant_quota_arg;
    uint64_t bytes, chunks_n;
    uint64_t scan;                                     /* number of the last listing that began */
    struct cw_catalogue_key *notify_first, *row_first; /* keys with something to tell, to store */
    uint64_t evicted, damaged, gone;
};

struct cw_catalogue *cw_catalogue_new(const struct cw_evict_policy *evict,
                                      uint64_t quota) CW_MUST_CHECK;
void cw_catalogue_free(struct cw_catalogue *catalogue); /* accepts NULL */

/* Made when it is not there. The name is valid (base/name.h); "" is "default". */
struct cw_catalogue_tenant *cw_catalogue_tenant(struct cw_catalogue *catalogue, const char *name);
/* or NULL */
struct cw_catalogue_key *cw_catalogue_find(const struct cw_catalogue *catalogue, const char *tenant,
                                           struct cw_hash key);
/* made */
struct cw_catalogue_key *cw_catalogue_key(struct cw_catalogue *catalogue, const char *tenant,
                                          struct cw_hash key);
/* Frees a key that holds nothing, that nobody uses or has pinned; true when it did. */
bool cw_catalogue_drop_key(struct cw_catalogue_key *key);
void cw_catalogue_mark_dirty(struct cw_catalogue_key *key); /* its row is to be stored */
void cw_catalogue_set_builder(struct cw_catalogue_key *key, const char *pipeline, const char *node,
                              const char *op, uint64_t ids);

/* A chunk that exists. NULL: the name is no chunk's. One that is known only gets its size. */
struct cw_catalogue_chunk *cw_catalogue_put(struct cw_catalogue *catalogue, const char *name,
                                            uint64_t bytes, int64_t created_ms);
struct cw_catalogue_chunk *cw_catalogue_chunk(const struct cw_catalogue *catalogue,
                                              const char *name);
/* workers with the key are to be told; its key stays */
void cw_catalogue_remove(struct cw_catalogue_chunk *chunk);

/* A listing: what is put between begin and end stays, and what came meanwhile; end removes the
 * rest. */
void cw_catalogue_scan_begin(struct cw_catalogue *catalogue);
uint64_t cw_catalogue_scan_end(struct cw_catalogue *catalogue);

/* Totals of a worker for a key: what is new since it told last counts. base: it counted them for
 * an earlier dispatcher. Returns records newly lost. */
uint64_t cw_catalogue_count(struct cw_catalogue_key *key, uint64_t worker_id,
                            const struct cw_catalogue_totals *totals, bool base);
/* Forgets what workers told that have been silent about the key for so long. */
void cw_catalogue_forget_silent(struct cw_catalogue *catalogue, int64_t now_ms, int64_t silent_ms);

void cw_catalogue_load_row(struct cw_catalogue *catalogue, const struct cw_state_cache_key *row);
void cw_catalogue_names_add(struct cw_catalogue_names *names, const char *name);
void cw_catalogue_names_clear(struct cw_catalogue_names *names);

/* ---- catalogue_evict.c ---- */

struct cw_catalogue_pick {
    const struct cw_catalogue_tenant *tenant; /* NULL = of all */
    /* NULL = of all; all of its chunks whatever their worth */
    const struct cw_catalogue_key *key;
    uint64_t bytes;  /* at least so many, by the policy */
    bool all;        /* everything but what is pinned */
    bool young;      /* also what has just come */
    int64_t wall_ms; /* now */
};
/* What is to leave, first of all what is worth least; the caller frees the array. key->readers
 * must be right. What is pinned stays. */
size_t cw_catalogue_pick(struct cw_catalogue *catalogue, const struct cw_catalogue_pick *pick,
                         struct cw_catalogue_chunk ***ret_chunks);

/* Watermarks: how many bytes are to leave of `bytes` used with `limit` allowed; 0 below 95 %,
 * else down to 85 %. */
uint64_t cw_catalogue_excess(uint64_t bytes, uint64_t limit);

#endif
