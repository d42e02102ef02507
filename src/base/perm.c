/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a permutation of [0, n) for single positions. The Feistel network works on ceil(log2 n)
 * bits, split into two parts that may differ by one bit, so that its domain is below 2n and a walk
 * takes 1.4 rounds of the network on average. */
#include "base/hash.h"
#include "base/rng.h"

/* With few bits more rounds are needed to come near a uniform choice among all permutations. */
#define ROUNDS_FEW_BITS 16
#define ROUNDS 8
#define FEW_BITS 10

void cw_perm_init(struct cw_perm *perm, uint64_t n, uint64_t seed, uint64_t tag, uint64_t epoch,
                  uint64_t rep)
{
    uint32_t bits = n > 1 ? (uint32_t)(64 - __builtin_clzll(n - 1)) : 0;

    perm->n = n;
    perm->key[0] = cw_rng_key(seed, tag, epoch, rep);
    perm->key[1] = cw_mix64(~perm->key[0]) | 1;
    perm->lo_bits = (bits + 1) / 2;
    perm->rounds = bits <= FEW_BITS ? ROUNDS_FEW_BITS : ROUNDS;
    perm->lo_mask = (uint64_t)((UINT64_C(1) << perm->lo_bits) - 1);
    perm->hi_mask = (uint64_t)((UINT64_C(1) << (bits / 2)) - 1);
}

static inline uint64_t round_bits(uint64_t x, uint64_t key)
{
    x = (x ^ key) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 32) * 0x94d049bb133111ebu;
    return x >> 32;
}

static inline uint64_t feistel(const struct cw_perm *perm, uint64_t x)
{
    uint64_t hi = x >> perm->lo_bits;
    uint64_t lo = x & perm->lo_mask;
    uint64_t key = perm->key[0];

    for (uint32_t r = 0; r < perm->rounds; r += 2) {
        lo ^= round_bits(hi, key) & perm->lo_mask;
        key += perm->key[1];
        hi ^= round_bits(lo, key) & perm->hi_mask;
        key += perm->key[1];
    }
    return hi << perm->lo_bits | lo;
}

uint64_t cw_perm_at(const struct cw_perm *perm, uint64_t i)
{
    if (perm->n < 2)
        return i;
    do
        i = feistel(perm, i);
    while (i >= perm->n);
    return i;
}

/* Number of walks that are computed together: the multiplications of one walk depend on each other,
 * those of several walks do not. */
#define LANES 8
#define LANES_UNROLL _Pragma("GCC unroll 8")

static inline void feistel_lanes(const struct cw_perm *perm, const uint64_t in[LANES],
                                 uint64_t out[LANES])
{
    uint64_t hi[LANES], lo[LANES], key = perm->key[0];

    LANES_UNROLL
    for (int k = 0; k < LANES; k++) {
        hi[k] = in[k] >> perm->lo_bits;
        lo[k] = in[k] & perm->lo_mask;
    }
    for (uint32_t r = 0; r < perm->rounds; r += 2) {
        LANES_UNROLL
        for (int k = 0; k < LANES; k++)
            lo[k] ^= round_bits(hi[k], key) & perm->lo_mask;
        key += perm->key[1];
        LANES_UNROLL
        for (int k = 0; k < LANES; k++)
            hi[k] ^= round_bits(lo[k], key) & perm->hi_mask;
        key += perm->key[1];
    }
    LANES_UNROLL
    for (int k = 0; k < LANES; k++)
        out[k] = hi[k] << perm->lo_bits | lo[k];
}

/* Positions that are mapped together: those whose walk goes on are a list on the stack. */
#define RUN 256
/* So few walks are as fast one by one. */
#define FEW 2

/* Goes one step of the network on with up to LANES walks of the list at `mine`, and writes at `list` which have
 * to go on. Returns how many these are. */
static inline size_t step(const struct cw_perm *perm, uint64_t *i, const uint8_t *mine, size_t n,
                          uint8_t *list)
{
    uint64_t in[LANES] = {0}, out[LANES];
    size_t left = 0;
    for (size_t k = 0; k < n; k++)
        in[k] = i[mine[k]];
    feistel_lanes(perm, in, out);
    for (size_t k = 0; k < n; k++) {
        i[mine[k]] = out[k];
        list[left] = mine[k];
        left += out[k] >= perm->n;
    }
    return left;
}

static void map_some(const struct cw_perm *perm, uint64_t *i, size_t n)
{
    uint8_t list[RUN];
    for (size_t k = 0; k < n; k++)
        list[k] = (uint8_t)k;
    for (size_t left; n > 0; n = left) {
        size_t at = left = 0;
        for (; at + LANES <= n; at += LANES)
            left += step(perm, i, list + at, LANES, list + left);
        if (n - at > FEW)
            left += step(perm, i, list + at, n - at, list + left);
        else
            for (; at < n; at++)
                i[list[at]] = cw_perm_at(perm, i[list[at]]);
    }
}

void cw_perm_run(const struct cw_perm *perm, uint64_t *i, size_t n)
{
    if (perm->n < 2)
        return;
    for (size_t at = 0; at < n; at += RUN)
        map_some(perm, i + at, n - at < RUN ? n - at : RUN);
}
