/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `equalize`: the samples of each channel become about equally frequent. */
#include "ops/element/u8_op.h"

#include "ops/kernels/tone.h"

struct equalize_opts {
    double p;
};

static const struct cw_opt options[] = {
    CW_U8_P_ROW(offsetof(struct equalize_opts, p), "1.0"),
    {0},
};

static void flatten(const struct cw_u8_op_image *image)
{
    struct cw_histogram counts[3];
    uint8_t tables[3][256];
    cw_tone_count(image->src, image->pixels, image->channels, counts);
    for (size_t c = 0; c < image->channels; c++)
        cw_tone_equalize(&counts[c], tables[c]);
    cw_tone_map_channels(image->dst, image->src, image->pixels, image->channels, tables);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct equalize_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    struct cw_u8_op_image image;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc == 0)
        flatten(&image);
    return rc;
}

static bool draws(const void *opts)
{
    const struct equalize_opts *o = opts;
    return cw_u8_op_draws_p(o->p);
}

const struct cw_op cw_op_equalize = {
    .name = "equalize",
    .version = 1,
    .summary = "images with a flat histogram",
    .doc = "Changes the samples of each channel so that all become about equally frequent, as "
           "ImageOps.equalize of\n"
           "Pillow and torchvision's equalize. u8 images of one channel or three. Draw 0 says, by "
           "`p`, whether an\n"
           "element is changed.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct equalize_opts),
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer_colours,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
