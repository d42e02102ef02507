/* SPDX-License-Identifier: Apache-2.0 */
/* The two passes of a resize in plain C. */
#include "ops/kernels/resample.h"

#define HALF (1 << (CW_FILTER_BITS - 1))

static inline uint8_t to_u8(int32_t sum)
{
    const int32_t v = sum >> CW_FILTER_BITS;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void cw_resample_x_tail(const struct cw_resample_x *pass, int32_t row, int32_t from)
{
    const struct cw_filter_axis *axis = pass->axis;
    const size_t channels = (size_t)pass->channels;
    const uint8_t *src = pass->src + (size_t)row * pass->src_stride;
    uint8_t *dst = pass->dst + (size_t)row * pass->dst_stride;
    for (int32_t o = from; o < axis->out; o++) {
        const int32_t *weight = axis->weight + (size_t)o * (size_t)axis->taps;
        const uint8_t *at = src + (size_t)(axis->first[o] - pass->first_col) * channels;
        for (size_t c = 0; c < channels; c++) {
            int32_t sum = HALF;
            for (int32_t i = 0; i < axis->n[o]; i++)
                sum += at[(size_t)i * channels + c] * weight[i];
            dst[(size_t)o * channels + c] = to_u8(sum);
        }
    }
}

int32_t cw_resample_x_safe(const struct cw_resample_x *pass, int32_t blocks)
{
    const struct cw_filter_axis *axis = pass->axis;
    const int64_t reach = 12 * (int64_t)(blocks - 1) + 16;
    /* counted from the front, since `first` need not rise from one pixel to the next */
    int32_t n = 0;
    while (n < axis->out - 1 &&
           3 * (int64_t)(axis->first[n] - pass->first_col) + reach <= (int64_t)pass->src_bytes)
        n++;
    return n;
}

void cw_resample_x_plain(const struct cw_resample_x *pass)
{
    for (int32_t row = 0; row < pass->rows; row++)
        cw_resample_x_tail(pass, row, 0);
}

void cw_resample_y_tail(const struct cw_resample_y *pass, int32_t row, size_t from)
{
    const struct cw_filter_axis *axis = pass->axis;
    const int32_t *weight = axis->weight + (size_t)row * (size_t)axis->taps;
    const uint8_t *src =
        pass->src + (size_t)(axis->first[row] - pass->first_row) * pass->src_stride;
    uint8_t *dst = pass->dst + (size_t)row * pass->row_bytes;
    for (size_t x = from; x < pass->row_bytes; x++) {
        int32_t sum = HALF;
        for (int32_t i = 0; i < axis->n[row]; i++)
            sum += src[(size_t)i * pass->src_stride + x] * weight[i];
        dst[x] = to_u8(sum);
    }
}

void cw_resample_y_plain(const struct cw_resample_y *pass)
{
    for (int32_t row = 0; row < pass->axis->out; row++)
        cw_resample_y_tail(pass, row, 0);
}
