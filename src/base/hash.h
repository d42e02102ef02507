/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of 128 bits (XXH3, libxxhash), and small mixing functions. They are not suitable for
 * secrets. */
#ifndef CW_BASE_HASH_H
#define CW_BASE_HASH_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_hash {
    uint64_t hi, lo;
};
#define CW_HASH_TEXT_BYTES 33 /* 32 hex digits and a NUL */

struct cw_hasher; /* the state of a hash that is computed piece by piece */
struct cw_hasher *cw_hasher_new(void) CW_MUST_CHECK;
void cw_hasher_free(struct cw_hasher *hasher);
void cw_hasher_reset(struct cw_hasher *hasher);
void cw_hasher_add(struct cw_hasher *hasher, const void *p, size_t n);
void cw_hasher_add_u64(struct cw_hasher *hasher, uint64_t v); /* adds the number in little endian */
/* Adds the length, then the bytes; NULL counts as "". */
void cw_hasher_add_str(struct cw_hasher *hasher, const char *s);
struct cw_hash cw_hasher_get(const struct cw_hasher *hasher);
/* The result equals cw_hash_u64 of all bytes at once. */
uint64_t cw_hasher_get_u64(const struct cw_hasher *hasher);

struct cw_hash cw_hash_bytes(const void *p, size_t n);
uint64_t cw_hash_u64(const void *p, size_t n);
/* XXH3_64bits_withSeed; with seed 0 the same as cw_hash_u64. */
uint64_t cw_hash_u64_seeded(const void *p, size_t n, uint64_t seed);
bool cw_hash_eq(struct cw_hash a, struct cw_hash b);
void cw_hash_text(struct cw_hash h, char ret_text[CW_HASH_TEXT_BYTES]);
bool cw_hash_parse(const char *text, struct cw_hash *ret_hash);

/* Mixes with SplitMix64's finaliser, a bijection on 64 bits. */
static inline uint64_t cw_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
