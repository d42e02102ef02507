/* SPDX-License-Identifier: Apache-2.0 */
/* A map of things and a list of those that nobody uses, the one that was used last at its end. */
#include "ops/source/table_cache.h"

#include <stdatomic.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ops/source/held.h"

struct cw_table_cache {
    _Atomic size_t budget;
    const struct cw_table_cache_kind *kind;
    void *arg;
    void (*let_go)(void *arg); /* of who keeps things at hand; NULL: nobody */
    void *let_go_arg;
    struct cw_held held;
    struct cw_mutex mutex; /* guards what follows */
    struct cw_cond loaded;
    struct cw_map map; /* hash -> list of things */
    size_t bytes;
    struct cw_table_thing *oldest, *newest;
};

static uint64_t hash_of(const struct cw_table_key *k)
{
    uint64_t h = (uint64_t)k->file << 32 | k->group;
    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    h ^= (uint64_t)k->column << 34 ^ (uint64_t)k->stretch << 2 ^ (uint64_t)k->kind;
    h = (h ^ h >> 32) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static bool is_key(const struct cw_table_key *a, const struct cw_table_key *b)
{
    return a->file == b->file && a->group == b->group && a->column == b->column &&
           a->kind == b->kind && a->stretch == b->stretch;
}

/* ---- with the mutex held ---- */

static struct cw_table_thing *find(struct cw_table_cache *c, const struct cw_table_key *key)
{
    struct cw_table_thing *t = cw_map_get(&c->map, hash_of(key));
    while (t && !is_key(&t->key, key))
        t = t->next;
    return t;
}

static void add(struct cw_table_cache *c, struct cw_table_thing *t)
{
    t->next = cw_map_get(&c->map, hash_of(&t->key));
    cw_map_set(&c->map, hash_of(&t->key), t);
}

static void drop(struct cw_table_cache *c, struct cw_table_thing *t)
{
    uint64_t hash = hash_of(&t->key);
    struct cw_table_thing *first = cw_map_get(&c->map, hash), **at = &first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (first)
        cw_map_set(&c->map, hash, first);
    else
        cw_map_remove(&c->map, hash);
    c->bytes -= t->bytes;
    cw_held_add(&c->held, -(int64_t)t->bytes);
    c->kind->fini(t);
    cw_mem_free(t);
}

static void unlist(struct cw_table_cache *c, struct cw_table_thing *t)
{
    if (t->older)
        t->older->newer = t->newer;
    else
        c->oldest = t->newer;
    if (t->newer)
        t->newer->older = t->older;
    else
        c->newest = t->older;
    t->older = t->newer = NULL;
}

static void list(struct cw_table_cache *c, struct cw_table_thing *t)
{
    t->stamp = cw_held_stamp();
    t->older = c->newest;
    if (c->newest)
        c->newest->newer = t;
    else
        c->oldest = t;
    c->newest = t;
}

static void drop_oldest(struct cw_table_cache *c)
{
    struct cw_table_thing *t = c->oldest;
    unlist(c, t);
    drop(c, t);
}

static void evict(struct cw_table_cache *c, size_t budget)
{
    while (c->bytes > budget && c->oldest)
        drop_oldest(c);
}

/* Returns a thing that is loaded, or NULL with a new one in *ret_new that the caller loads. */
static struct cw_table_thing *find_or_begin(struct cw_table_cache *c,
                                            const struct cw_table_key *key,
                                            struct cw_table_thing **ret_new)
{
    struct cw_table_thing *t = find(c, key);
    while (t && !t->is_ready) {
        cw_cond_wait(&c->loaded, &c->mutex);
        t = find(c, key);
    }
    if (t && t->refs++ == 0)
        unlist(c, t);
    if (t)
        return t;
    *ret_new = cw_mem_new(c->kind->thing_bytes);
    (*ret_new)->key = *key;
    (*ret_new)->refs = 1;
    add(c, *ret_new);
    return NULL;
}

/* ---- without it ---- */

static uint64_t stamp_of_oldest(void *arg)
{
    struct cw_table_cache *c = arg;
    cw_mutex_lock(&c->mutex);
    const uint64_t stamp = c->oldest ? c->oldest->stamp : UINT64_MAX;
    cw_mutex_unlock(&c->mutex);
    return stamp;
}

static bool drop_if_any(void *arg)
{
    struct cw_table_cache *c = arg;
    cw_mutex_lock(&c->mutex);
    const bool is_any = c->oldest != NULL;
    if (is_any)
        drop_oldest(c);
    cw_mutex_unlock(&c->mutex);
    return is_any;
}

static void let_go(void *arg)
{
    struct cw_table_cache *c = arg;
    if (c->let_go)
        c->let_go(c->let_go_arg);
}

struct cw_table_cache *cw_table_cache_new(size_t budget_bytes,
                                          const struct cw_table_cache_kind *kind, void *arg)
{
    struct cw_table_cache *c = CW_NEW(struct cw_table_cache);
    c->budget = budget_bytes;
    c->kind = kind;
    c->arg = arg;
    cw_mutex_init(&c->mutex);
    cw_cond_init(&c->loaded);
    c->held = (struct cw_held){
        .arg = c, .oldest = stamp_of_oldest, .drop_oldest = drop_if_any, .let_go = let_go};
    cw_held_join(&c->held);
    return c;
}

void cw_table_cache_lend(struct cw_table_cache *c, void (*fn)(void *arg), void *arg)
{
    cw_held_leave(&c->held); /* so that nobody calls it */
    c->let_go = fn;
    c->let_go_arg = arg;
    cw_held_join(&c->held);
}

void cw_table_cache_shut(struct cw_table_cache *c)
{
    cw_held_leave(&c->held);
}

void cw_table_cache_free(struct cw_table_cache *c)
{
    if (!c)
        return;
    cw_held_leave(&c->held);
    evict(c, 0);
    cw_map_fini(&c->map);
    cw_cond_fini(&c->loaded);
    cw_mutex_fini(&c->mutex);
    cw_mem_free(c);
}

int cw_table_cache_get_by(struct cw_table_cache *c, const struct cw_table_key *key,
                          int (*load)(void *arg, struct cw_table_thing *thing, struct cw_err *err),
                          void *arg, struct cw_table_thing **ret_thing, struct cw_err *err)
{
    struct cw_table_thing *fresh = NULL;
    cw_mutex_lock(&c->mutex);
    *ret_thing = find_or_begin(c, key, &fresh);
    cw_mutex_unlock(&c->mutex);
    if (*ret_thing)
        return 0;
    int rc = load(arg, fresh, err);
    cw_mutex_lock(&c->mutex);
    if (rc == 0) {
        fresh->is_ready = true;
        c->bytes += fresh->bytes;
        cw_held_add(&c->held, (int64_t)fresh->bytes);
        evict(c, c->budget);
    } else {
        fresh->bytes = 0;
        drop(c, fresh);
        fresh = NULL;
    }
    cw_cond_broadcast(&c->loaded);
    cw_mutex_unlock(&c->mutex);
    cw_held_keep_max();
    *ret_thing = fresh;
    return rc;
}

int cw_table_cache_get(struct cw_table_cache *c, const struct cw_table_key *key,
                       struct cw_table_thing **ret_thing, struct cw_err *err)
{
    return cw_table_cache_get_by(c, key, c->kind->load, c->arg, ret_thing, err);
}

struct cw_table_thing *cw_table_cache_peek(struct cw_table_cache *c, const struct cw_table_key *key)
{
    cw_mutex_lock(&c->mutex);
    struct cw_table_thing *t = find(c, key);
    if (t && !t->is_ready)
        t = NULL;
    if (t && t->refs++ == 0)
        unlist(c, t);
    cw_mutex_unlock(&c->mutex);
    return t;
}

void cw_table_cache_put(struct cw_table_cache *c, struct cw_table_thing *thing)
{
    if (!thing)
        return;
    cw_mutex_lock(&c->mutex);
    if (--thing->refs == 0) {
        list(c, thing);
        evict(c, c->budget);
    }
    cw_mutex_unlock(&c->mutex);
}

void cw_table_cache_allow(struct cw_table_cache *c, size_t budget_bytes)
{
    if (budget_bytes > atomic_load(&c->budget))
        atomic_store(&c->budget, budget_bytes);
}

void cw_table_cache_count(struct cw_table_cache *c, int64_t bytes)
{
    cw_held_add(&c->held, bytes);
}

size_t cw_table_cache_bytes(struct cw_table_cache *c)
{
    cw_mutex_lock(&c->mutex);
    size_t bytes = c->bytes;
    cw_mutex_unlock(&c->mutex);
    return bytes;
}

bool cw_table_cache_is_over(struct cw_table_cache *c)
{
    cw_mutex_lock(&c->mutex);
    const bool is_over = c->bytes > c->budget;
    cw_mutex_unlock(&c->mutex);
    return is_over || cw_held_is_over();
}
