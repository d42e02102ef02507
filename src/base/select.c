/* SPDX-License-Identifier: Apache-2.0 */
#include "base/select.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_WORDS 8
#define BLOCK_BITS ((uint64_t)BLOCK_WORDS * 64)

static void fill_words(uint64_t *words, const uint8_t *bytes, uint64_t n)
{
    memcpy(words, bytes, (size_t)((n + 7) / 8));
    for (uint64_t i = 0; i < (n + 63) / 64; i++)
        words[i] = le64toh(words[i]);
}

static void join(uint64_t *words, const uint8_t *bytes, uint64_t n)
{
    for (uint64_t i = 0; i < (n + 7) / 8; i++)
        words[i / 8] |= (uint64_t)bytes[i] << (i % 8 * 8);
}

bool cw_select_init(struct cw_select *select, const uint8_t *bytes, const uint8_t *also, uint64_t n)
{
    const uint64_t blocks = (n + BLOCK_BITS - 1) / BLOCK_BITS;
    uint64_t *words = cw_mem_try((size_t)(blocks * BLOCK_WORDS + 1) * sizeof(*words));
    uint64_t *before = cw_mem_try((size_t)(blocks + 1) * sizeof(*before));
    if (!words || !before) {
        cw_mem_free(words);
        cw_mem_free(before);
        return false;
    }
    memset(words, 0, (size_t)(blocks * BLOCK_WORDS + 1) * sizeof(*words));
    fill_words(words, bytes, n);
    if (also)
        join(words, also, n);
    if (n % 64)
        words[n / 64] &= (UINT64_C(1) << n % 64) - 1;
    uint64_t set = 0;
    for (uint64_t b = 0; b < blocks; b++) {
        before[b] = set;
        for (uint64_t i = 0; i < BLOCK_WORDS; i++)
            set += (uint64_t)__builtin_popcountll(words[b * BLOCK_WORDS + i]);
    }
    before[blocks] = set;
    *select = (struct cw_select){.n = n, .set_n = set, .words = words, .before = before};
    return true;
}

void cw_select_fini(struct cw_select *select)
{
    cw_mem_free(select->words);
    cw_mem_free(select->before);
    *select = (struct cw_select){0};
}

/* Returns the block of the k-th bit. */
static uint64_t find_block(const struct cw_select *select, uint64_t k)
{
    uint64_t lo = 0, hi = (select->n + BLOCK_BITS - 1) / BLOCK_BITS;
    while (hi - lo > 1) {
        const uint64_t middle = lo + (hi - lo) / 2;
        if (select->before[middle] <= k)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static uint64_t at_in_block(const struct cw_select *select, uint64_t block, uint64_t k)
{
    const uint64_t *word = select->words + block * BLOCK_WORDS;
    uint64_t left = k - select->before[block], i = 0;
    for (uint64_t n; n = (uint64_t)__builtin_popcountll(word[i]), left >= n; i++)
        left -= n;
    uint64_t bits = word[i];
    for (; left > 0; left--)
        bits &= bits - 1;
    return block * BLOCK_BITS + i * 64 + (uint64_t)__builtin_ctzll(bits);
}

uint64_t cw_select_at(const struct cw_select *select, uint64_t k)
{
    return at_in_block(select, find_block(select, k), k);
}

void cw_select_run(const struct cw_select *select, int64_t *k, size_t n)
{
    uint64_t block = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = (uint64_t)k[i];
        if (at < select->before[block] || at >= select->before[block + 1])
            block = find_block(select, at);
        k[i] = (int64_t)at_in_block(select, block, at);
    }
}
