/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of a blur in plain C. */
#include "ops/kernels/neighbours.h"

#include <string.h>

void cw_blur_y_plain(const struct cw_blur_y *pass)
{
    const size_t n = pass->n - pass->from;
    uint16_t *dst = pass->dst + pass->from;
    uint32_t *restrict sums = pass->sums;
    memset(sums, 0, n * sizeof(*sums));
    for (size_t i = 0; i < pass->axis->taps; i++) {
        const uint8_t *restrict src = pass->rows[i] + pass->from;
        const uint32_t weight = pass->axis->weight[i];
        for (size_t x = 0; x < n && weight; x++)
            sums[x] += weight * src[x];
    }
    for (size_t x = 0; x < n; x++)
        dst[x] = (uint16_t)((sums[x] + (1u << (CW_BLUR_BITS - 9))) >> (CW_BLUR_BITS - 8));
}

void cw_blur_x_plain(const struct cw_blur_x *pass)
{
    const size_t n = pass->n - pass->from;
    uint8_t *dst = pass->dst + pass->from;
    uint32_t *restrict sums = pass->sums;
    memset(sums, 0, n * sizeof(*sums));
    for (size_t i = 0; i < pass->axis->taps; i++) {
        const uint16_t *restrict src = pass->src + pass->from + i * pass->step;
        const uint32_t weight = pass->axis->weight[i];
        for (size_t x = 0; x < n && weight; x++)
            sums[x] += weight * src[x];
    }
    for (size_t x = 0; x < n; x++)
        dst[x] = (uint8_t)((sums[x] + (1u << (CW_BLUR_BITS + 7))) >> (CW_BLUR_BITS + 8));
}
