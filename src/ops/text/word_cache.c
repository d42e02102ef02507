/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/word_cache.h"

#include "base/hash.h"
#include "base/mem.h"

#define LONG_BYTES 62
#define LONG_IDS 16
#define LONG_N 8192 /* 1 MiB and a bit */

struct cw_word_long {
    uint8_t n, ids_n; /* n = 0: empty */
    uint8_t bytes[LONG_BYTES];
    float margin;
    int32_t ids[LONG_IDS];
};

void cw_word_cache_init(struct cw_word_cache *cache)
{
    const size_t n = (size_t)2 << CW_WORD_LINE_BITS;
    cache->entries = cw_mem_try_aligned(64, n * sizeof(struct cw_word_entry));
    CW_ASSERT(cache->entries);
    memset(cache->entries, 0, n * sizeof(struct cw_word_entry));
    cache->longs = CW_NEW_ARRAY(struct cw_word_long, LONG_N);
}

void cw_word_cache_fini(struct cw_word_cache *cache)
{
    cw_mem_free(cache->entries);
    cw_mem_free(cache->longs);
    *cache = (struct cw_word_cache){0};
}

void cw_word_put(struct cw_word_entry *line, struct cw_word_key key, const int32_t *ids, size_t n,
                 float margin)
{
    uint32_t bits;
    memcpy(&bits, &margin, sizeof(bits));
    line[1] = line[0];
    line[0].key = key;
    line[0].n = (uint16_t)n;
    line[0].margin = (uint16_t)(bits >> 16);
    for (size_t i = 0; i < n; i++)
        line[0].ids[i] = ids[i];
}

static struct cw_word_long *slot_of(const struct cw_word_cache *cache, const uint8_t *p, size_t n)
{
    return &cache->longs[cw_hash_u64(p, n) % LONG_N];
}

int64_t cw_word_long_find(const struct cw_word_cache *cache, const uint8_t *p, size_t n,
                          int32_t *out, float *ret_margin)
{
    if (n > LONG_BYTES || n == 0)
        return -1;
    const struct cw_word_long *slot = slot_of(cache, p, n);
    if (slot->n != n || memcmp(slot->bytes, p, n) != 0)
        return -1;
    for (size_t i = 0; i < slot->ids_n; i++)
        out[i] = slot->ids[i];
    *ret_margin = slot->margin;
    return slot->ids_n;
}

void cw_word_long_put(struct cw_word_cache *cache, const uint8_t *p, size_t n, const int32_t *ids,
                      size_t ids_n, float margin)
{
    if (n > LONG_BYTES || n == 0 || ids_n > LONG_IDS)
        return;
    struct cw_word_long *slot = slot_of(cache, p, n);
    slot->n = (uint8_t)n;
    slot->ids_n = (uint8_t)ids_n;
    slot->margin = margin;
    memcpy(slot->bytes, p, n);
    memcpy(slot->ids, ids, ids_n * sizeof(ids[0]));
}
