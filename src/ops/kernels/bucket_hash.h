/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of integers, reduced to a number of buckets: XXH3's 64 bits of the 8 bytes of each value in
 * little endian, modulo the number of buckets. */
#ifndef CW_OPS_KERNELS_BUCKET_HASH_H
#define CW_OPS_KERNELS_BUCKET_HASH_H

#include "base/compiler.h"

/* A number by which is divided, with what makes that fast. */
struct cw_divisor {
    uint64_t d, inverse;
};
__extension__ typedef unsigned __int128 cw_divisor_wide;
struct cw_divisor cw_divisor_of(uint64_t d); /* d > 0 */
static inline uint64_t cw_divisor_rest(uint64_t x, struct cw_divisor by)
{
    /* the quotient, or one less */
    const uint64_t q = (uint64_t)((cw_divisor_wide)x * by.inverse >> 64);
    const uint64_t rest = x - q * by.d;
    return rest >= by.d ? rest - by.d : rest;
}
/* Returns XXH3_64bits_withSeed of the 8 bytes of v. */
uint64_t cw_hash_int(int64_t v, uint64_t seed);
/* The buckets of n values; value i has those of buckets[i % period]. dst may be src. */
void cw_hash_ints(int64_t *dst, const int64_t *src, size_t n, uint64_t seed,
                  const struct cw_divisor *buckets, size_t period);

#endif
