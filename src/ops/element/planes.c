/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/planes.h"

#include "ops/kernels/pixels.h"

int cw_planes_split(const struct cw_op_ctx *ctx, const struct cw_view *in, struct cw_view *out,
                    const uint8_t **ret_planes, size_t *ret_pixels, struct cw_err *err)
{
    const size_t channels = (size_t)in->dims[2], bytes = cw_dtype_bytes(in->dtype);
    const bool is_split = channels == 1; /* as it is */
    uint8_t *planes = is_split ? in->data : cw_op_scratch(ctx, in->bytes, err);
    if (!planes)
        return CW_E_NOMEM;
    out->dims[0] = in->dims[2];
    out->dims[1] = in->dims[0];
    out->dims[2] = in->dims[1];
    *ret_planes = planes;
    *ret_pixels = channels ? in->bytes / bytes / channels : 0;
    if (*ret_pixels && !is_split)
        cw_pixels_split(planes, in->data, *ret_pixels, channels, bytes, *ret_pixels);
    return 0;
}

void cw_planes_split_strip(const struct cw_view *in, const struct cw_strip *from,
                           const struct cw_strip *to)
{
    const size_t channels = (size_t)in->dims[2], bytes = cw_dtype_bytes(in->dtype);
    const size_t pixels = (size_t)to->n * (size_t)in->dims[1];
    if (channels && pixels)
        cw_pixels_split(to->data, from->data, pixels, channels, bytes, to->plane / bytes);
}
