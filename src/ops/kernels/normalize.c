/* SPDX-License-Identifier: Apache-2.0 */
/* The table of normalize, and whether the AVX2 loop gives the same bits. */
#include "ops/kernels/normalize.h"

#include <string.h>
#include "base/mem.h"
#include "ops/kernels/kernel_table.h"

/* Whether the AVX2 loop gives correctly rounded quotients. It multiplies by reciprocals and
 * corrects with FMA, which is exact except for unusual constants. There are only 256 samples, so
 * all are tried. */
static bool is_exact(const struct cw_normalize *normalize)
{
    uint8_t src[24];
    float dst[24];
    for (unsigned v = 0; v < 256; v++) {
        memset(src, (int)v, sizeof(src));
        cw_normalize_u8_avx2(normalize, dst, src, CW_ARRAY_LEN(src), 0);
        for (size_t i = 0; i < CW_ARRAY_LEN(src); i++)
            if (memcmp(&dst[i], &normalize->table[256 * (i % normalize->channels) + v],
                       sizeof(float)) != 0)
                return false;
    }
    return true;
}

void cw_normalize_init(struct cw_normalize *normalize, float scale, const float *mean,
                       const float *std, size_t channels)
{
    *normalize =
        (struct cw_normalize){.channels = channels, .scale = scale, .inverse_scale = 1.0f / scale};
    normalize->table = CW_NEW_ARRAY(float, channels * 256);
    for (size_t c = 0; c < channels; c++)
        for (size_t v = 0; v < 256; v++)
            normalize->table[c * 256 + v] = ((float)v / scale - mean[c]) / std[c];
    for (size_t i = 0; i < CW_ARRAY_LEN(normalize->mean); i++) {
        normalize->mean[i] = mean[i % channels];
        normalize->std[i] = std[i % channels];
        normalize->inverse_std[i] = 1.0f / std[i % channels];
    }
    const bool whole = CW_ARRAY_LEN(normalize->mean) % channels == 0;
    normalize->fast = whole; /* so that is_exact() tries the loop itself */
    normalize->fast = whole && cw_cpu_best() >= CW_CPU_LEVEL_AVX2 && is_exact(normalize);
}

void cw_normalize_fini(struct cw_normalize *normalize)
{
    cw_mem_free(normalize->table);
    *normalize = (struct cw_normalize){0};
}

void cw_normalize_u8(const struct cw_normalize *normalize, float *dst, const uint8_t *src, size_t n,
                     size_t whole)
{
    cw_kernels()->normalize_u8(normalize, dst, src, n, whole);
}
