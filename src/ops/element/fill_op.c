/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels of one value. */
#include "ops/element/fill_op.h"

#include <string.h>
#include "ops/kernels/num.h"

int cw_fill_check(const struct cw_f64_list *fill, int64_t channels, struct cw_err *err)
{
    if (fill->n == 1 || channels < 0 || channels == (int64_t)fill->n)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "option fill: %zu values for an image of %lld channels",
                      fill->n, (long long)channels);
}

int cw_fill_pixel(const struct cw_op_ctx *ctx, const struct cw_f64_list *fill, enum cw_dtype dtype,
                  int64_t channels, uint8_t ret_pixel[CW_FILL_PIXEL_BYTES_MAX], struct cw_err *err)
{
    const int rc = ctx->is_mask ? 0 : cw_fill_check(fill, channels, err);
    if (rc < 0)
        return rc;
    if (channels > CW_FILL_CHANNELS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "an image of %lld channels: at most %d can be filled",
                          (long long)channels, CW_FILL_CHANNELS_MAX);
    for (int64_t c = 0; c < channels; c++)
        cw_num_put_f64(dtype, ret_pixel, (size_t)c,
                       ctx->is_mask ? 0 : fill->v[fill->n == 1 ? 0 : c]);
    return 0;
}

void cw_fill_run(uint8_t *dst, int64_t n, const uint8_t *pixel, size_t pixel_bytes)
{
    if (pixel_bytes == 1) {
        memset(dst, pixel[0], (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++, dst += pixel_bytes)
        memcpy(dst, pixel, pixel_bytes);
}
