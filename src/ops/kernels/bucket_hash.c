/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of integers. The formula is XXH3's for inputs of 4 to 8 bytes, whose length is known here;
 * a test compares it with the library. */
#include "ops/kernels/bucket_hash.h"

/* two numbers of XXH3's secret, combined as it does for such inputs */
#define SECRET (0x1cad21f72c81017cu ^ 0xdb979083e96dd4deu)
#define PRIME 0x9fb21c651e98df25u
#define INPUT_BYTES 8

struct cw_divisor cw_divisor_of(uint64_t d)
{
    return (struct cw_divisor){.d = d, .inverse = UINT64_MAX / d};
}

static inline uint64_t rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static inline uint64_t flips_of(uint64_t seed)
{
    return SECRET - (seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32);
}

static inline uint64_t mix(uint64_t v, uint64_t flips)
{
    uint64_t h = rotate(v, 32) ^ flips;
    h ^= rotate(h, 49) ^ rotate(h, 24);
    h *= PRIME;
    h ^= (h >> 35) + INPUT_BYTES;
    h *= PRIME;
    return h ^ h >> 28;
}

uint64_t cw_hash_int(int64_t v, uint64_t seed)
{
    return mix((uint64_t)v, flips_of(seed));
}

void cw_hash_ints(int64_t *dst, const int64_t *src, size_t n, uint64_t seed,
                  const struct cw_divisor *buckets, size_t period)
{
    const uint64_t flips = flips_of(seed);
    if (period == 1) {
        for (size_t i = 0; i < n; i++)
            dst[i] = (int64_t)cw_divisor_rest(mix((uint64_t)src[i], flips), buckets[0]);
        return;
    }
    for (size_t i = 0; i < n; i += period) {
        const size_t columns = CW_MIN(period, n - i);
        for (size_t p = 0; p < columns; p++)
            dst[i + p] = (int64_t)cw_divisor_rest(mix((uint64_t)src[i + p], flips), buckets[p]);
    }
}
