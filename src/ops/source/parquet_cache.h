/* SPDX-License-Identifier: Apache-2.0 */
/* What was decoded of Parquet files: places of pages, dictionaries and slabs, found by their place,
 * within a budget. All threads of a source share it; each thing is loaded by one thread while others
 * wait. Things in use stay, even if they exceed the budget. */
#ifndef CW_OPS_SOURCE_PARQUET_CACHE_H
#define CW_OPS_SOURCE_PARQUET_CACHE_H

#include "format/parquet/slab.h"

enum cw_parquet_kind { CW_PARQUET_PAGES, CW_PARQUET_DICTIONARY, CW_PARQUET_SLAB };
struct cw_parquet_key {
    uint32_t file, group, column;
    enum cw_parquet_kind kind;
    uint32_t stretch; /* of a slab */
};
struct cw_parquet_thing {
    struct cw_parquet_key key;
    union {
        struct cw_pq_pages pages;
        struct cw_pq_column dictionary;
        struct cw_pq_slab slab;
    } u;
    size_t bytes;
    /* guarded by the cache's mutex: */
    size_t refs;
    bool is_ready;
    struct cw_parquet_thing *older, *newer; /* in the list of things that nobody uses */
    struct cw_parquet_thing *next;          /* with the same hash */
};
/* Loads the thing of a key, and sets its bytes. */
typedef int cw_parquet_load_fn(void *arg, struct cw_parquet_thing *thing, struct cw_err *err);

struct cw_parquet_cache;
struct cw_parquet_cache *cw_parquet_cache_new(size_t budget_bytes, cw_parquet_load_fn *load,
                                              void *arg);
/* Nothing of it may be in use. */
void cw_parquet_cache_free(struct cw_parquet_cache *cache);
/* Returns the thing of a key, loaded if it was not there; the caller gives it back. */
int cw_parquet_cache_get(struct cw_parquet_cache *cache, const struct cw_parquet_key *key,
                         struct cw_parquet_thing **ret_thing, struct cw_err *err);
/* Returns the thing of a key if it is loaded, which the caller gives back; else NULL. Does not wait. */
struct cw_parquet_thing *cw_parquet_cache_peek(struct cw_parquet_cache *cache,
                                               const struct cw_parquet_key *key);
void cw_parquet_cache_put(struct cw_parquet_cache *cache, struct cw_parquet_thing *thing);
/* Bytes of everything that is loaded. */
size_t cw_parquet_cache_bytes(struct cw_parquet_cache *cache);

#endif
