/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of normalize in plain C. */
#include "ops/kernels/normalize.h"

void cw_normalize_u8_plain(const struct cw_normalize *normalize, float *dst, const uint8_t *src,
                           size_t n, size_t whole)
{
    const size_t channels = normalize->channels;
    (void)whole;
    const float *table = normalize->table;
    size_t i = 0;
    if (channels == 3)
        for (; i + 3 <= n; i += 3)
            for (size_t c = 0; c < 3; c++)
                dst[i + c] = table[256 * c + src[i + c]];
    for (; i < n; i++)
        dst[i] = table[256 * (i % channels) + src[i]];
}
