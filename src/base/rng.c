/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10, and the packing of a stream's name into its key and counter. */
#include "base/rng.h"

#include <errno.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"

__extension__ typedef unsigned __int128 wide;

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define GOLDEN 0x9e3779b97f4a7c15u

void cw_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t ret_words[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = ctr[0], c1 = ctr[1], c2 = ctr[2], c3 = ctr[3];

    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
        uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;

        c0 = n0;
        c1 = (uint32_t)p1;
        c2 = n2;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    ret_words[0] = c0;
    ret_words[1] = c1;
    ret_words[2] = c2;
    ret_words[3] = c3;
}

uint64_t cw_rng_key(uint64_t seed, uint64_t tag, uint64_t epoch, uint64_t rep)
{
    uint64_t k = cw_mix64(seed + GOLDEN);

    k = cw_mix64((k ^ tag) + GOLDEN);
    k = cw_mix64((k ^ epoch) + GOLDEN);
    return cw_mix64((k ^ rep) + GOLDEN);
}

/* The name without the id (seed, tag, epoch, rep) becomes 96 bits: the key and one word of the
 * counter. The id is in the two others. */
void cw_rng_init(struct cw_rng *rng, uint64_t seed, uint64_t tag, uint64_t epoch, uint64_t rep,
                 uint64_t id)
{
    uint64_t key = cw_rng_key(seed, tag, epoch, rep);

    rng->key[0] = (uint32_t)key;
    rng->key[1] = (uint32_t)(key >> 32);
    rng->ctr[0] = (uint32_t)id;
    rng->ctr[1] = (uint32_t)(id >> 32);
    rng->ctr[2] =
        (uint32_t)(cw_mix64(seed ^ cw_mix64(tag + cw_mix64(epoch + cw_mix64(rep)))) >> 32);
}

/* One more stage of the key; the id stays where it is. */
void cw_rng_fork(const struct cw_rng *rng, uint64_t n, struct cw_rng *ret_rng)
{
    const uint64_t whole = (uint64_t)rng->key[1] << 32 | rng->key[0], part = cw_mix64(n + GOLDEN),
                   key = cw_mix64((whole ^ part) + GOLDEN);

    *ret_rng = *rng;
    ret_rng->key[0] = (uint32_t)key;
    ret_rng->key[1] = (uint32_t)(key >> 32);
    ret_rng->ctr[2] = (uint32_t)(cw_mix64(part ^ rng->ctr[2]) >> 32);
}

uint64_t cw_rng_u64(const struct cw_rng *rng, uint32_t draw)
{
    uint32_t ctr[4] = {rng->ctr[0], rng->ctr[1], rng->ctr[2], draw};
    uint32_t words[4];

    cw_philox(rng->key, ctr, words);
    return (uint64_t)words[1] << 32 | words[0];
}

double cw_rng_unit(const struct cw_rng *rng, uint32_t draw)
{
    return (double)(cw_rng_u64(rng, draw) >> 11) * 0x1.0p-53;
}

double cw_rng_range(const struct cw_rng *rng, uint32_t draw, double lo, double hi)
{
    return lo + (hi - lo) * cw_rng_unit(rng, draw);
}

uint64_t cw_rng_below(const struct cw_rng *rng, uint32_t draw, uint64_t n)
{
    return (uint64_t)((wide)cw_rng_u64(rng, draw) * n >> 64);
}

uint64_t cw_rng_process_id(void)
{
    uint64_t id = 0;

    while (id == 0) {
        ssize_t n = getrandom(&id, sizeof(id), 0);
        if (n == (ssize_t)sizeof(id) || (n < 0 && errno == EINTR))
            continue;
        id = cw_mix64((uint64_t)cw_clock_ns()) ^ cw_mix64((uint64_t)cw_clock_wall_ms());
    }
    return id;
}
