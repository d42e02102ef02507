/* SPDX-License-Identifier: Apache-2.0 */
/* What sources have decoded of their files (slabs of rows of tables and what these need, stretches of
 * compressed files), found by its place, within a budget. All threads of a source share it; each thing is
 * loaded by one thread while others wait. Things in use stay, even if they exceed the budget. Others are
 * dropped, too, where the process has too many of them, or memory is short (held.h). */
#ifndef CW_OPS_SOURCE_TABLE_CACHE_H
#define CW_OPS_SOURCE_TABLE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cw_table_key {
    uint32_t file, group, column;
    int kind;         /* of the source: which of several things of that place */
    uint32_t stretch; /* of a slab */
};
/* Things begin with this. */
struct cw_table_thing {
    struct cw_table_key key;
    size_t bytes; /* set by who loads it */
    /* guarded by the cache's mutex: */
    size_t refs;
    bool is_ready;
    uint64_t stamp;                       /* of the last use; set while nobody uses it */
    struct cw_table_thing *older, *newer; /* in the list of things that nobody uses */
    struct cw_table_thing *next;          /* with the same hash */
};
struct cw_table_cache_kind {
    size_t thing_bytes; /* its struct, which is zeroed before it is loaded */
    /* Loads the thing of a key, and sets its bytes. NULL: cw_table_cache_get_by is used alone. */
    int (*load)(void *arg, struct cw_table_thing *thing, struct cw_err *err);
    /* Frees what a thing owns, but not its struct; also if load has failed. */
    void (*fini)(struct cw_table_thing *thing);
};

struct cw_table_cache;
struct cw_table_cache *cw_table_cache_new(size_t budget_bytes,
                                          const struct cw_table_cache_kind *kind, void *arg);
/* Who keeps things in use without need gives them back in `let_go`, which any thread may call until
 * cw_table_cache_shut. */
void cw_table_cache_lend(struct cw_table_cache *cache, void (*let_go)(void *arg), void *arg);
void cw_table_cache_shut(struct cw_table_cache *cache);
/* Nothing of it may be in use. */
void cw_table_cache_free(struct cw_table_cache *cache);
/* Returns the thing of a key, loaded if it was not there; the caller gives it back. */
int cw_table_cache_get(struct cw_table_cache *cache, const struct cw_table_key *key,
                       struct cw_table_thing **ret_thing, struct cw_err *err);
/* The same, with a function that loads it if it was not there. */
int cw_table_cache_get_by(struct cw_table_cache *cache, const struct cw_table_key *key,
                          int (*load)(void *arg, struct cw_table_thing *thing, struct cw_err *err),
                          void *arg, struct cw_table_thing **ret_thing, struct cw_err *err);
/* Returns the thing of a key if it is loaded, which the caller gives back; else NULL. Does not wait. */
struct cw_table_thing *cw_table_cache_peek(struct cw_table_cache *cache,
                                           const struct cw_table_key *key);
/* thing may be NULL. */
void cw_table_cache_put(struct cw_table_cache *cache, struct cw_table_thing *thing);
/* Raises the budget to so many bytes. */
void cw_table_cache_allow(struct cw_table_cache *cache, size_t budget_bytes);
/* Counts bytes that its source keeps besides the things, among those that are given back where the process has too
 * many of them, or memory is short; fewer than none: it keeps them no more. They are no part of the budget. */
void cw_table_cache_count(struct cw_table_cache *cache, int64_t bytes);
/* Bytes of everything that is loaded. */
size_t cw_table_cache_bytes(struct cw_table_cache *cache);
/* Whether what is in use exceeds the budget, or all caches together their limit: who keeps things without need then gives them back. */
bool cw_table_cache_is_over(struct cw_table_cache *cache);

#endif
