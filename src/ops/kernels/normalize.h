/* SPDX-License-Identifier: Apache-2.0 */
/* Converts 8-bit samples to (x / scale - mean) / std, in single precision and in this order of
 * operations. */
#ifndef CW_OPS_KERNELS_NORMALIZE_H
#define CW_OPS_KERNELS_NORMALIZE_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_normalize {
    size_t channels;
    float *table; /* [channels][256]: the results for all samples */
    /* For the AVX2 loop, which is taken if it was found to be exact: constants of 24 samples, a
     * whole number of pixels and of vectors. */
    bool fast;
    float scale, inverse_scale;
    float mean[24], std[24], inverse_std[24];
};

/* Prepares the table. mean and std have `channels` numbers. The struct is immutable afterwards, and
 * any thread may use it. */
void cw_normalize_init(struct cw_normalize *normalize, float scale, const float *mean,
                       const float *std, size_t channels);
void cw_normalize_fini(struct cw_normalize *normalize);
/* Converts n samples, of which the first belongs to channel 0. They are a part of a result of `whole` samples, which
 * nobody reads here; 0: somebody does. */
void cw_normalize_u8(const struct cw_normalize *normalize, float *dst, const uint8_t *src, size_t n,
                     size_t whole);
/* The kernel normalize_u8. */
void cw_normalize_u8_plain(const struct cw_normalize *normalize, float *dst, const uint8_t *src,
                           size_t n, size_t whole);
void cw_normalize_u8_avx2(const struct cw_normalize *normalize, float *dst, const uint8_t *src,
                          size_t n, size_t whole);

#endif
