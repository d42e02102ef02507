/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based randomness: no state anywhere (docs/pipelines.md). A stream is named by (seed, tag,
 * epoch, repetition, element id); draws of it are numbered. Philox4x32-10: Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", SC'11. */
#ifndef CW_BASE_RNG_H
#define CW_BASE_RNG_H

#include "base/compiler.h"

struct cw_rng {
    uint32_t key[2];
    uint32_t ctr[3]; /* the fourth word of the counter is the number of the draw */
};

/* Names the stream: tag is the operator, (epoch, rep) the pass over the data, id the element. */
void cw_rng_init(struct cw_rng *rng, uint64_t seed, uint64_t tag, uint64_t epoch, uint64_t rep,
                 uint64_t id);
/* Names the stream of part n of what has the stream `rng`; it has draws of its own. */
void cw_rng_fork(const struct cw_rng *rng, uint64_t n, struct cw_rng *ret_rng);
uint64_t cw_rng_u64(const struct cw_rng *rng, uint32_t draw);
/* Returns a number in [0, 1) with 53 random bits. */
double cw_rng_unit(const struct cw_rng *rng, uint32_t draw);
double cw_rng_range(const struct cw_rng *rng, uint32_t draw, double lo, double hi);
/* Returns a uniform number in [0, n), with a negligible bias (multiply-shift on 64 bits). n > 0. */
uint64_t cw_rng_below(const struct cw_rng *rng, uint32_t draw, uint64_t n);

/* A permutation of [0, n) that is computed for single positions: a keyed Feistel network with cycle
 * walking (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). It needs O(1)
 * memory. */
struct cw_perm {
    uint64_t n;
    uint64_t key[2];
    uint64_t lo_mask, hi_mask;
    uint32_t lo_bits, rounds;
};
void cw_perm_init(struct cw_perm *perm, uint64_t n, uint64_t seed, uint64_t tag, uint64_t epoch,
                  uint64_t rep);
uint64_t cw_perm_at(const struct cw_perm *perm, uint64_t i); /* i < n */
/* Maps n positions in place; faster than mapping them one by one. */
void cw_perm_run(const struct cw_perm *perm, uint64_t *i, size_t n);

/* One block of Philox4x32-10, and the 64-bit key of a stream or a permutation. */
void cw_philox(const uint32_t key[2], const uint32_t ctr[4], uint32_t ret_words[4]);
uint64_t cw_rng_key(uint64_t seed, uint64_t tag, uint64_t epoch, uint64_t rep);

/* Returns random bytes from the kernel, for ids of processes. Never 0. */
uint64_t cw_rng_process_id(void);

#endif
