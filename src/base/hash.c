/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3 under our own names; it gives the same value on every CPU. */
#include "base/hash.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
/* from this size on the widest vectors of this CPU pay: they are twice as fast, and give the same
 * value */
#define BIG ((size_t)4096)
#endif

#include "base/mem.h"

struct cw_hasher {
    XXH3_state_t *state;
};

struct cw_hasher *cw_hasher_new(void)
{
    struct cw_hasher *hasher = CW_NEW(struct cw_hasher);

    hasher->state = XXH3_createState();
    CW_ASSERT(hasher->state != NULL);
    cw_hasher_reset(hasher);
    return hasher;
}

void cw_hasher_free(struct cw_hasher *hasher)
{
    if (!hasher)
        return;
    XXH3_freeState(hasher->state);
    cw_mem_free(hasher);
}

void cw_hasher_reset(struct cw_hasher *hasher)
{
    XXH3_128bits_reset(hasher->state);
}

void cw_hasher_add(struct cw_hasher *hasher, const void *p, size_t n)
{
#ifdef BIG
    if (n >= BIG) {
        XXH3_128bits_update_dispatch(hasher->state, p, n);
        return;
    }
#endif
    if (n)
        XXH3_128bits_update(hasher->state, p, n);
}

void cw_hasher_add_u64(struct cw_hasher *hasher, uint64_t v)
{
    uint64_t le = htole64(v);

    cw_hasher_add(hasher, &le, sizeof(le));
}

void cw_hasher_add_str(struct cw_hasher *hasher, const char *s)
{
    size_t n = s ? strlen(s) : 0;

    cw_hasher_add_u64(hasher, n);
    cw_hasher_add(hasher, s, n);
}

static struct cw_hash from_xxh(XXH128_hash_t h)
{
    return (struct cw_hash){.hi = h.high64, .lo = h.low64};
}

struct cw_hash cw_hasher_get(const struct cw_hasher *hasher)
{
    return from_xxh(XXH3_128bits_digest(hasher->state));
}

/* Hashes of both lengths have the same state. */
uint64_t cw_hasher_get_u64(const struct cw_hasher *hasher)
{
    return XXH3_64bits_digest(hasher->state);
}

struct cw_hash cw_hash_bytes(const void *p, size_t n)
{
    return from_xxh(XXH3_128bits(n ? p : "", n));
}

uint64_t cw_hash_u64(const void *p, size_t n)
{
#ifdef BIG
    if (n >= BIG)
        return XXH3_64bits_dispatch(p, n);
#endif
    return XXH3_64bits(n ? p : "", n);
}

uint64_t cw_hash_u64_seeded(const void *p, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(n ? p : "", n, seed);
}

bool cw_hash_eq(struct cw_hash a, struct cw_hash b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

void cw_hash_text(struct cw_hash h, char ret_text[CW_HASH_TEXT_BYTES])
{
    snprintf(ret_text, CW_HASH_TEXT_BYTES, "%016llx%016llx", (unsigned long long)h.hi,
             (unsigned long long)h.lo);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool parse_hex64(const char *text, uint64_t *ret)
{
    uint64_t v = 0;

    for (int i = 0; i < 16; i++) {
        int d = hex_digit(text[i]);
        if (d < 0)
            return false;
        v = v << 4 | (uint64_t)d;
    }
    *ret = v;
    return true;
}

bool cw_hash_parse(const char *text, struct cw_hash *ret_hash)
{
    struct cw_hash h;

    if (!text || strlen(text) != 32 || !parse_hex64(text, &h.hi) || !parse_hex64(text + 16, &h.lo))
        return false;
    *ret_hash = h;
    return true;
}
