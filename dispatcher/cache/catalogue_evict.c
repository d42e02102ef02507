/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks are evicted: all that may go, in the order of the policy. This takes O(n log n)
 * steps, once for each tenth of the quota that is written. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "dispatcher/cache/catalogue.h"

struct candidate {
    struct cw_catalogue_chunk *chunk;
    double worth;
    bool used;
};

uint64_t cw_catalogue_excess(const struct cw_catalogue *catalogue, uint64_t bytes, uint64_t limit)
{
    uint64_t percent = limit / 100; /* For small limits this is a little less than a hundredth. */
    if (limit < 100)
        return bytes > limit ? bytes - limit : 0;
    return bytes >= percent * catalogue->high ? bytes - percent * catalogue->low : 0;
}

static double seconds(int64_t ms)
{
    return ms > 0 ? (double)ms / 1000 : 0;
}

static double worth_of(const struct cw_catalogue *catalogue, const struct cw_catalogue_chunk *chunk,
                       int64_t now)
{
    const struct cw_catalogue_key *key = chunk->key;
    double share = key->records > 0 ? (double)chunk->records / (double)key->records : 0;
    double cost = key->cost_records > 0 ? (double)key->cost_ns / (double)key->cost_records : 0;
    const struct cw_evict_entry entry = {
        .bytes = (double)chunk->bytes,
        .records = (double)chunk->records,
        .saved_ns = (double)key->saved_ns * share,
        .cost_ns = cost * (double)chunk->records,
        .hits = (double)key->hits * share,
        .idle_s = seconds(now - CW_MAX(chunk->created_ms, key->used_ms)),
        .pinned = key->pinned,
        .used = key->readers > 0,
    };
    return catalogue->evict->worth(&entry);
}

static bool may_leave(const struct cw_catalogue_key *key, const struct cw_catalogue_pick *pick)
{
    return !key->pinned && (!pick->tenant || key->tenant == pick->tenant) &&
           (!pick->key || key == pick->key);
}

/* Chunks that nobody uses come first, then those of less worth, then the oldest. Comparing names
 * makes the order the same every time. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->used != y->used)
        return x->used ? 1 : -1;
    if (x->worth < y->worth || x->worth > y->worth)
        return x->worth < y->worth ? -1 : 1;
    if (x->chunk->created_ms != y->chunk->created_ms)
        return x->chunk->created_ms < y->chunk->created_ms ? -1 : 1;
    return strcmp(x->chunk->name, y->chunk->name);
}

static size_t collect(const struct cw_catalogue *catalogue, const struct cw_catalogue_pick *pick,
                      struct candidate *candidates)
{
    bool whole = pick->all || pick->key;
    size_t n = 0;
    const char *name;
    void *value;
    for (size_t i = 0; cw_strmap_next(&catalogue->keys, &i, &name, &value);) {
        const struct cw_catalogue_key *key = value;
        for (struct cw_catalogue_chunk *chunk = may_leave(key, pick) ? key->first : NULL; chunk;
             chunk = chunk->next) {
            if (whole || pick->young || pick->wall_ms - chunk->created_ms >= CW_CATALOGUE_YOUNG_MS)
                candidates[n++] = (struct candidate){
                    chunk, whole ? 0 : worth_of(catalogue, chunk, pick->wall_ms), key->readers > 0};
        }
    }
    return n;
}

size_t cw_catalogue_pick(struct cw_catalogue *catalogue, const struct cw_catalogue_pick *pick,
                         struct cw_catalogue_chunk ***ret_chunks)
{
    struct candidate *candidates = CW_NEW_ARRAY(struct candidate, catalogue->chunks_n + 1);
    size_t n = collect(catalogue, pick, candidates), picked = 0;
    qsort(candidates, n, sizeof(*candidates), compare);
    struct cw_catalogue_chunk **chunks = CW_NEW_ARRAY(struct cw_catalogue_chunk *, n + 1);
    uint64_t bytes = 0;
    for (size_t i = 0; i < n && (pick->all || pick->key || bytes < pick->bytes); i++) {
        chunks[picked++] = candidates[i].chunk;
        bytes += candidates[i].chunk->bytes;
    }
    cw_mem_free(candidates);
    *ret_chunks = chunks;
    return picked;
}
