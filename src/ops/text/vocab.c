/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/vocab.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void cw_vocab_fini(struct cw_vocab *vocab)
{
    cw_mem_free(vocab->entries);
    cw_mem_free(vocab->pool);
    cw_mem_free(vocab->slots);
    *vocab = (struct cw_vocab){0};
}

/* Tokens are short, and looked up many times a word, so that calls of libraries would cost more than what they do:
 * strings of up to 16 bytes are read as two numbers, which overlap. */
#define SHORT 16

struct two {
    uint64_t lo, hi;
};

static inline struct two two_of(const uint8_t *p, size_t n)
{
    struct two two = {0, 0};
    if (n >= 8) {
        memcpy(&two.lo, p, 8);
        memcpy(&two.hi, p + n - 8, 8);
    } else if (n >= 4) {
        memcpy(&two.lo, p, 4);
        memcpy(&two.hi, p + n - 4, 4);
    } else if (n > 0) {
        two.lo = (uint64_t)p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16;
    }
    return two;
}

static inline uint64_t hash_of(const void *p, size_t n)
{
    if (n > SHORT)
        return cw_hash_u64(p, n);
    const struct two two = two_of(p, n);
    const uint64_t mixed =
        (two.lo ^ n * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u ^ two.hi * 0x94d049bb133111ebu;
    return (mixed ^ mixed >> 29) * 0xff51afd7ed558ccdu ^ mixed >> 32;
}

static inline bool is_same(const void *a, const void *b, size_t n)
{
    if (n > SHORT)
        return memcmp(a, b, n) == 0;
    const struct two x = two_of(a, n), y = two_of(b, n);
    return x.lo == y.lo && x.hi == y.hi;
}

/* Returns the slot of a string, or the empty one where it belongs. */
static size_t find_slot(const struct cw_vocab *vocab, uint64_t hash, const void *p, size_t n)
{
    size_t i = (size_t)hash & (vocab->slots_n - 1);
    for (; vocab->slots[i].number; i = (i + 1) & (vocab->slots_n - 1)) {
        if (vocab->slots[i].tag != (uint32_t)(hash >> 32))
            continue;
        const struct cw_vocab_entry *entry = &vocab->entries[vocab->slots[i].number - 1];
        if (entry->n == n && is_same(vocab->pool + entry->at, p, n))
            break;
    }
    return i;
}

static void grow_slots(struct cw_vocab *vocab)
{
    if (2 * (vocab->n + 1) <= vocab->slots_n)
        return;
    cw_mem_free(vocab->slots);
    vocab->slots_n = vocab->slots_n ? 2 * vocab->slots_n : 1024;
    vocab->slots = CW_NEW_ARRAY(struct cw_vocab_slot, vocab->slots_n);
    for (size_t k = 0; k < vocab->n; k++) {
        const struct cw_vocab_entry *entry = &vocab->entries[k];
        const uint64_t hash = hash_of(vocab->pool + entry->at, entry->n);
        vocab->slots[find_slot(vocab, hash, vocab->pool + entry->at, entry->n)] =
            (struct cw_vocab_slot){(uint32_t)(hash >> 32), (uint32_t)k + 1};
    }
}

static void copy_to_pool(struct cw_vocab *vocab, const void *p, size_t n)
{
    if (vocab->pool_n + n + 1 > vocab->pool_cap) {
        vocab->pool_cap = CW_MAX(2 * vocab->pool_cap, vocab->pool_n + n + 4096);
        vocab->pool = cw_mem_grow(vocab->pool, vocab->pool_cap, 1);
    }
    if (n > 0)
        memcpy(vocab->pool + vocab->pool_n, p, n);
    vocab->pool_n += n;
}

int cw_vocab_add(struct cw_vocab *vocab, const void *p, size_t n, int64_t id, struct cw_err *err)
{
    if (id < 0 || id > INT32_MAX)
        return cw_err_set(err, CW_E_INVALID, "id %lld of token \"%.*s\" is not in 0 to 2147483647",
                          (long long)id, (int)CW_MIN(n, 40), (const char *)p);
    if (vocab->n >= CW_VOCAB_ENTRIES_MAX || vocab->pool_n + n > CW_VOCAB_BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "more than %zu tokens, or %zu bytes of them",
                          CW_VOCAB_ENTRIES_MAX, CW_VOCAB_BYTES_MAX);
    grow_slots(vocab);
    const uint64_t hash = hash_of(p, n);
    const size_t slot = find_slot(vocab, hash, p, n);
    if (vocab->slots[slot].number)
        return 0;
    const struct cw_vocab_entry entry = {(uint32_t)vocab->pool_n, (uint32_t)n, (int32_t)id};
    copy_to_pool(vocab, p, n);
    CW_GROW(vocab->entries, vocab->n, vocab->cap);
    vocab->entries[vocab->n++] = entry;
    vocab->slots[slot] = (struct cw_vocab_slot){(uint32_t)(hash >> 32), (uint32_t)vocab->n};
    return 1;
}

const struct cw_vocab_entry *cw_vocab_entry(const struct cw_vocab *vocab, const void *p, size_t n)
{
    if (!vocab->n)
        return NULL;
    const uint32_t k = vocab->slots[find_slot(vocab, hash_of(p, n), p, n)].number;
    return k ? &vocab->entries[k - 1] : NULL;
}

int32_t cw_vocab_find(const struct cw_vocab *vocab, const void *p, size_t n)
{
    const struct cw_vocab_entry *entry = cw_vocab_entry(vocab, p, n);
    return entry ? entry->id : -1;
}
