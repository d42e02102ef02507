/* SPDX-License-Identifier: Apache-2.0 */
/* What words were encoded to: a table of fixed size for each thread. Words of up to 15 bytes with up
 * to 3 tokens, which is nearly all of a text, lie in lines of 64 bytes, two to a line; longer ones in a
 * table of their own, as do short ones with more tokens. A newer word replaces an older one. The table changes no result. */
#ifndef CW_OPS_TEXT_WORD_CACHE_H
#define CW_OPS_TEXT_WORD_CACHE_H

#include <string.h>
#include "base/compiler.h"

#define CW_WORD_SHORT_BYTES 15
#define CW_WORD_SHORT_IDS 3
#define CW_WORD_LINE_BITS 15 /* 2 MiB */

struct cw_word_key {
    uint64_t lo, hi; /* the bytes, and their number in the last byte */
};
struct cw_word_entry {
    struct cw_word_key key;
    int32_t ids[CW_WORD_SHORT_IDS];
    uint16_t n;
    uint16_t margin; /* the upper half of a float (see cw_word_margin) */
};
struct cw_word_cache {
    struct cw_word_entry *entries; /* pairs */
    struct cw_word_long *longs;
};

void cw_word_cache_init(struct cw_word_cache *cache);
void cw_word_cache_fini(struct cw_word_cache *cache);

/* Makes the key of a word of n <= 15 bytes; `room` bytes can be read at p. */
static inline struct cw_word_key cw_word_key_of(const uint8_t *p, size_t n, size_t room)
{
    struct cw_word_key key = {0, 0};
    if (CW_LIKELY(room >= 16)) {
        memcpy(&key.lo, p, 8);
        memcpy(&key.hi, p + 8, 8);
    } else {
        uint8_t bytes[16] = {0};
        memcpy(bytes, p, n);
        memcpy(&key.lo, bytes, 8);
        memcpy(&key.hi, bytes + 8, 8);
    }
    if (n < 8) {
        key.lo &= (UINT64_C(1) << 8 * n) - 1;
        key.hi = 0;
    } else {
        key.hi &= (UINT64_C(1) << 8 * (n - 8)) - 1;
    }
    key.hi |= (uint64_t)n << 56;
    return key;
}

/* Returns the two entries where a word may be. */
static inline struct cw_word_entry *cw_word_line(const struct cw_word_cache *cache,
                                                 struct cw_word_key key)
{
    const uint64_t mixed = (key.lo ^ (key.hi * 0xff51afd7ed558ccdu)) * 0x9e3779b97f4a7c15u;
    return cache->entries + 2 * (mixed >> (64 - CW_WORD_LINE_BITS));
}

/* Finds a short word; NULL: it is not there. */
static inline const struct cw_word_entry *cw_word_find(const struct cw_word_entry *line,
                                                       struct cw_word_key key)
{
    if (line[0].key.lo == key.lo && line[0].key.hi == key.hi)
        return &line[0];
    return line[1].key.lo == key.lo && line[1].key.hi == key.hi ? &line[1] : NULL;
}
/* A number >= 0 that was stored with a word, rounded down: how sure its tokens are. */
static inline float cw_word_margin(const struct cw_word_entry *entry)
{
    const uint32_t bits = (uint32_t)entry->margin << 16;
    float margin;
    memcpy(&margin, &bits, sizeof(margin));
    return margin;
}
/* Puts a short word into its line; n <= 3. */
void cw_word_put(struct cw_word_entry *line, struct cw_word_key key, const int32_t *ids, size_t n,
                 float margin);

/* The same for other words. Finding one copies its tokens to out, which has room for n, and returns
 * their number; -1: it is not there. Putting one that is too long does nothing. */
int64_t cw_word_long_find(const struct cw_word_cache *cache, const uint8_t *p, size_t n,
                          int32_t *out, float *ret_margin);
void cw_word_long_put(struct cw_word_cache *cache, const uint8_t *p, size_t n, const int32_t *ids,
                      size_t ids_n, float margin);

#endif
