/* SPDX-License-Identifier: Apache-2.0 */
/* Changes by histograms. */
#include "ops/element/histogram_op.h"

const struct cw_opt cw_histogram_op_options[] = {
    CW_U8_P_ROW(offsetof(struct cw_histogram_op_opts, p), "1.0"),
    {0},
};

void cw_histogram_op_map(const struct cw_u8_op_image *image, cw_histogram_op_fn *make,
                         const uint8_t *src, uint8_t *dst)
{
    struct cw_histogram counts[3];
    uint8_t tables[3][256];
    cw_tone_count(src, image->pixels, image->channels, counts);
    for (size_t c = 0; c < image->channels; c++)
        make(&counts[c], tables[c]);
    cw_tone_map_channels(dst, src, image->pixels, image->channels, tables);
}

int cw_histogram_op_apply(const struct cw_op_ctx *ctx, const void *opts, cw_histogram_op_fn *make,
                          const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct cw_histogram_op_opts *o = opts;
    struct cw_u8_op_image image;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc == 0)
        cw_histogram_op_map(&image, make, image.src, image.dst);
    return rc;
}

bool cw_histogram_op_draws(const void *opts)
{
    const struct cw_histogram_op_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}
