/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants, keys, chunks, and their sums. The cost of a step does not depend on how much there
 * is. */
#include "dispatcher/cache/catalogue.h"

#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "format/chunk.h"

#define KEY_NAME_BYTES (CW_TENANT_NAME_MAX + 1 + CW_HASH_TEXT_BYTES)

struct cw_catalogue *cw_catalogue_new(const struct cw_evict_policy *evict, uint64_t quota)
{
    struct cw_catalogue *catalogue = CW_NEW(struct cw_catalogue);
    catalogue->evict = evict;
    catalogue->quota = quota;
    catalogue->high = CW_CATALOGUE_HIGH;
    catalogue->low = CW_CATALOGUE_LOW;
    return catalogue;
}

void cw_catalogue_names_add(struct cw_catalogue_names *names, const char *name)
{
    CW_GROW(names->v, names->n, names->cap);
    names->v[names->n++] = cw_mem_strdup(name);
}

void cw_catalogue_names_clear(struct cw_catalogue_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        cw_mem_free(names->v[i]);
    cw_mem_free(names->v);
    *names = (struct cw_catalogue_names){0};
}

static void free_seen(struct cw_catalogue_key *key)
{
    uint64_t id;
    void *seen;
    for (size_t i = 0; cw_map_next(&key->seen, &i, &id, &seen);)
        cw_mem_free(seen);
    cw_map_fini(&key->seen);
}

static void key_free(struct cw_catalogue_key *key)
{
    for (struct cw_catalogue_chunk *chunk = key->first, *next; chunk; chunk = next) {
        next = chunk->next;
        cw_mem_free(chunk);
    }
    free_seen(key);
    cw_catalogue_names_clear(&key->added);
    cw_catalogue_names_clear(&key->removed);
    cw_map_fini(&key->subscribers);
    cw_mem_free(key->pipeline);
    cw_mem_free(key->node);
    cw_mem_free(key->op);
    cw_mem_free(key);
}

void cw_catalogue_free(struct cw_catalogue *catalogue)
{
    if (!catalogue)
        return;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->keys, &i, &name, &value);)
        key_free(value);
    for (size_t i = 0; cw_strmap_next(&catalogue->tenants, &i, &name, &value);)
        cw_mem_free(value);
    cw_strmap_fini(&catalogue->keys);
    cw_strmap_fini(&catalogue->tenants);
    cw_strmap_fini(&catalogue->chunks);
    cw_mem_free(catalogue);
}

static const char *tenant_name(const char *name)
{
    return name && name[0] != '\0' ? name : "default";
}

struct cw_catalogue_tenant *cw_catalogue_tenant(struct cw_catalogue *catalogue, const char *name)
{
    struct cw_catalogue_tenant *tenant = cw_strmap_get(&catalogue->tenants, tenant_name(name));
    if (tenant)
        return tenant;
    tenant = CW_NEW(struct cw_catalogue_tenant);
    snprintf(tenant->name, sizeof(tenant->name), "%s", tenant_name(name));
    tenant->quota = catalogue->tenant_quota
                        ? catalogue->tenant_quota(catalogue->tenant_quota_arg, tenant->name)
                        : 0;
    cw_strmap_set(&catalogue->tenants, tenant->name, tenant);
    return tenant;
}

static void key_name(const char *tenant, struct cw_hash key, char ret_name[KEY_NAME_BYTES])
{
    char text[CW_HASH_TEXT_BYTES];
    cw_hash_text(key, text);
    snprintf(ret_name, KEY_NAME_BYTES, "%s/%s", tenant_name(tenant), text);
}

struct cw_catalogue_key *cw_catalogue_find(const struct cw_catalogue *catalogue, const char *tenant,
                                           struct cw_hash key)
{
    char name[KEY_NAME_BYTES];
    key_name(tenant, key, name);
    return cw_strmap_get(&catalogue->keys, name);
}

struct cw_catalogue_key *cw_catalogue_key(struct cw_catalogue *catalogue, const char *tenant,
                                          struct cw_hash hash)
{
    char name[KEY_NAME_BYTES];
    key_name(tenant, hash, name);
    struct cw_catalogue_key *key = cw_strmap_get(&catalogue->keys, name);
    if (key)
        return key;
    key = CW_NEW(struct cw_catalogue_key);
    key->catalogue = catalogue;
    key->tenant = cw_catalogue_tenant(catalogue, tenant);
    key->key = hash;
    cw_hash_text(hash, key->text);
    key->pipeline = cw_mem_strdup("");
    key->node = cw_mem_strdup("");
    key->op = cw_mem_strdup("");
    cw_strmap_set(&catalogue->keys, name, key);
    return key;
}

bool cw_catalogue_drop_key(struct cw_catalogue_key *key)
{
    if (key->chunks_n > 0 || key->pinned || key->holders > 0 || key->subscribers.n > 0 ||
        key->seen.n > 0 || key->notify_due || key->row_dirty)
        return false;
    char name[KEY_NAME_BYTES];
    key_name(key->tenant->name, key->key, name);
    cw_strmap_remove(&key->catalogue->keys, name);
    key_free(key);
    return true;
}

void cw_catalogue_mark_dirty(struct cw_catalogue_key *key)
{
    if (key->row_dirty)
        return;
    key->row_dirty = true;
    key->next_row = key->catalogue->row_first;
    key->catalogue->row_first = key;
}

static void set_text(char **text, const char *s)
{
    cw_mem_free(*text);
    *text = cw_mem_strdup(s);
}

void cw_catalogue_set_builder(struct cw_catalogue_key *key, const char *pipeline, const char *node,
                              const char *op, uint64_t ids)
{
    if (ids == key->ids && strcmp(key->pipeline, pipeline) == 0 && strcmp(key->node, node) == 0 &&
        strcmp(key->op, op) == 0)
        return;
    set_text(&key->pipeline, pipeline);
    set_text(&key->node, node);
    set_text(&key->op, op);
    key->ids = ids;
    cw_catalogue_mark_dirty(key);
}

/* ---- chunks ---- */

static void note_change(struct cw_catalogue_key *key, const char *name, bool added)
{
    if (key->subscribers.n == 0)
        return;
    cw_catalogue_names_add(added ? &key->added : &key->removed, name);
    if (key->notify_due)
        return;
    key->notify_due = true;
    key->next_notify = key->catalogue->notify_first;
    key->catalogue->notify_first = key;
}

static void add_sums(struct cw_catalogue_key *key, const struct cw_catalogue_chunk *chunk, int sign)
{
    /* UINT64_MAX is minus one in arithmetic modulo 2^64. */
    uint64_t one = sign < 0 ? UINT64_MAX : 1;
    key->chunks_n += one;
    key->records += one * chunk->records;
    key->bytes += one * chunk->bytes;
    key->tenant->bytes += one * chunk->bytes;
    key->tenant->chunks_n += one;
    key->catalogue->bytes += one * chunk->bytes;
    key->catalogue->chunks_n += one;
}

static struct cw_catalogue_chunk *add(struct cw_catalogue *catalogue, const char *name,
                                      const struct cw_chunk_name *parts)
{
    size_t bytes = strlen(name) + 1;
    struct cw_catalogue_key *key = cw_catalogue_key(catalogue, parts->tenant, parts->key);
    struct cw_catalogue_chunk *chunk = cw_mem_new(sizeof(*chunk) + bytes);
    memcpy(chunk->name, name, bytes);
    chunk->key = key;
    chunk->records = parts->count;
    chunk->prev = key->last;
    *(key->last ? &key->last->next : &key->first) = chunk;
    key->last = chunk;
    cw_strmap_set(&catalogue->chunks, name, chunk);
    note_change(key, name, true);
    return chunk;
}

struct cw_catalogue_chunk *cw_catalogue_chunk(const struct cw_catalogue *catalogue,
                                              const char *name)
{
    return cw_strmap_get(&catalogue->chunks, name);
}

struct cw_catalogue_chunk *cw_catalogue_put(struct cw_catalogue *catalogue, const char *name,
                                            uint64_t bytes, int64_t created_ms)
{
    struct cw_catalogue_chunk *chunk = cw_catalogue_chunk(catalogue, name);
    if (chunk) {
        add_sums(chunk->key, chunk, -1);
    } else {
        struct cw_chunk_name parts;
        if (!cw_chunk_name_parse(name, &parts))
            return NULL;
        chunk = add(catalogue, name, &parts);
        chunk->created_ms = created_ms;
        if (chunk->key->created_ms == 0 || created_ms < chunk->key->created_ms)
            chunk->key->created_ms = created_ms;
    }
    chunk->bytes = bytes;
    chunk->seen_by = catalogue->scan;
    add_sums(chunk->key, chunk, 1);
    return chunk;
}

void cw_catalogue_remove(struct cw_catalogue_chunk *chunk)
{
    struct cw_catalogue_key *key = chunk->key;
    note_change(key, chunk->name, false);
    add_sums(key, chunk, -1);
    *(chunk->prev ? &chunk->prev->next : &key->first) = chunk->next;
    *(chunk->next ? &chunk->next->prev : &key->last) = chunk->prev;
    cw_strmap_remove(&key->catalogue->chunks, chunk->name);
    cw_mem_free(chunk);
}

void cw_catalogue_scan_begin(struct cw_catalogue *catalogue)
{
    catalogue->scan++;
}

uint64_t cw_catalogue_scan_end(struct cw_catalogue *catalogue)
{
    uint64_t removed = 0;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->keys, &i, &name, &value);) {
        for (struct cw_catalogue_chunk *chunk = ((struct cw_catalogue_key *)value)->first, *next;
             chunk; chunk = next) {
            next = chunk->next;
            if (chunk->seen_by == catalogue->scan)
                continue;
            cw_catalogue_remove(chunk);
            removed++;
        }
    }
    return removed;
}

/* ---- counters of workers ---- */

/* Returns by how much a total has grown. A total that is smaller than before has begun again at
 * zero. */
static uint64_t grown(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

uint64_t cw_catalogue_count(struct cw_catalogue_key *key, uint64_t worker_id,
                            const struct cw_catalogue_totals *totals, bool base)
{
    struct cw_catalogue_totals *seen = cw_map_get(&key->seen, worker_id);
    if (!seen) {
        seen = CW_NEW(struct cw_catalogue_totals);
        if (base)
            *seen = *totals;
        cw_map_set(&key->seen, worker_id, seen);
    }
    uint64_t hits = grown(seen->hits, totals->hits), misses = grown(seen->misses, totals->misses),
             lost = grown(seen->lost, totals->lost);
    *seen = *totals;
    key->misses += misses;
    if (hits == 0)
        return lost;
    key->hits += hits;
    if (key->cost_records > 0)
        key->saved_ns +=
            (uint64_t)((double)hits * ((double)key->cost_ns / (double)key->cost_records));
    key->used_ms = cw_clock_wall_ms();
    cw_catalogue_mark_dirty(key);
    return lost;
}

void cw_catalogue_forget_silent(struct cw_catalogue *catalogue, int64_t now_ms, int64_t silent_ms)
{
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->keys, &i, &name, &value);) {
        struct cw_catalogue_key *key = value;
        uint64_t id;
        void *seen;
        for (size_t k = 0; cw_map_next(&key->seen, &k, &id, &seen);) {
            if (now_ms - ((struct cw_catalogue_totals *)seen)->last_heard_ms < silent_ms)
                continue;
            cw_map_remove(&key->seen, id);
            cw_mem_free(seen);
        }
        if (key->chunks_n == 0 && key->seen.n == 0)
            cw_catalogue_mark_dirty(key); /* The key is dropped when its row is written. */
    }
}

void cw_catalogue_load_row(struct cw_catalogue *catalogue, const struct cw_state_cache_key *row)
{
    struct cw_hash hash;
    if (cw_name_check_tenant(row->tenant, NULL) != 0 || !cw_hash_parse(row->key, &hash))
        return;
    struct cw_catalogue_key *key = cw_catalogue_key(catalogue, row->tenant, hash);
    set_text(&key->pipeline, row->pipeline);
    set_text(&key->node, row->node);
    set_text(&key->op, row->op);
    key->ids = row->ids;
    key->hits = row->hits;
    key->misses = row->misses;
    key->saved_ns = row->saved_ns;
    key->cost_ns = row->cost_ns;
    key->cost_records = row->cost_records;
    key->created_ms = row->created_ms;
    key->used_ms = row->used_ms;
    key->pinned = row->pinned;
}
