/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `elastic`: moves pixels by a smooth random field. */
#include "ops/element/warp_op.h"
#include "ops/kernels/elastic.h"

/* The draw of the first pixel; each has one, for both of its ways. */
#define DRAW_FIRST 1

struct elastic_opts {
    struct cw_motion_opts moved; /* masks alone: boxes do not stay boxes */
    struct cw_f64_list alpha;
    struct cw_warp_op_opts warp;
    double p, sigma;
};

static const struct cw_opt options[] = {
    {.name = "alpha",
     .help = "how far pixels are moved, as torchvision means it: along x and along y, or one "
             "number for both",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct elastic_opts, alpha),
     .def = "[50.0]",
     .min = 0,
     .max = 1e6,
     .len_min = 1,
     .len_max = 2},
    CW_WARP_OP_FILL_ROW(offsetof(struct elastic_opts, warp)),
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct elastic_opts, warp), "\"bilinear\""),
    CW_MOTION_MASKS_ROW(offsetof(struct elastic_opts, moved)),
    CW_U8_P_ROW(offsetof(struct elastic_opts, p), "1.0"),
    {.name = "sigma",
     .help = "how smooth the field is: the deviation, in pixels, with which it is blurred",
     .type = CW_OPT_F64,
     .offset = offsetof(struct elastic_opts, sigma),
     .def = "5.0",
     .min = 0.1,
     .max = CW_ELASTIC_SIGMA_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct elastic_opts *o = opts;
    return cw_warp_op_check(&o->warp, err);
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct elastic_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

/* A number in [-1, 1) of 24 bits. */
static float noise(uint32_t bits)
{
    return (float)((int32_t)(bits >> 8) - (1 << 23)) * 0x1p-23f;
}

/* Draws the ways of all pixels along x and y, in units of alpha / 2 pixels of a square image. */
static int draw_ways(const struct cw_op_ctx *ctx, double sigma, const struct cw_u8_op_image *image,
                     float **ret_x, float **ret_y, struct cw_err *err)
{
    struct cw_elastic_filter filter;
    const size_t n = image->pixels;
    cw_elastic_filter_init(&filter, sigma);
    float *x = cw_op_scratch(ctx, 2 * n * sizeof(float), err);
    void *work =
        x ? cw_op_scratch(ctx, cw_elastic_work_bytes(&filter, image->h, image->w), err) : NULL;
    if (!work)
        return CW_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = cw_rng_u64(&ctx->rng, DRAW_FIRST + (uint32_t)i);
        x[i] = noise((uint32_t)(bits >> 32));
        x[n + i] = noise((uint32_t)bits);
    }
    cw_elastic_smooth(&filter, x, image->h, image->w, work);
    cw_elastic_smooth(&filter, x + n, image->h, image->w, work);
    *ret_x = x;
    *ret_y = x + n;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct elastic_opts *o = opts;
    struct cw_u8_op_image image;
    float *x, *y;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    const struct cw_warp_op_opts *warp = ctx->is_mask ? &cw_warp_op_mask_opts : &o->warp;
    if (rc == 0)
        rc = cw_warp_op_check_fill(warp, (int64_t)image.channels, err);
    if (rc == 0)
        rc = draw_ways(ctx, o->sigma, &image, &x, &y, err);
    if (rc < 0)
        return rc;
    const double h = (double)image.h, w = (double)image.w;
    struct cw_elastic_job job = {.src = image.src,
                                 .dst = image.dst,
                                 .h = image.h,
                                 .w = image.w,
                                 .channels = image.channels,
                                 .x = x,
                                 .y = y,
                                 .scale_x = o->alpha.v[0] / h * w * 0.5,
                                 .scale_y = o->alpha.v[o->alpha.n - 1] / w * h * 0.5,
                                 .bilinear = warp->interpolation == 1};
    for (size_t c = 0; c < CW_MIN(image.channels, CW_ARRAY_LEN(job.fill)); c++)
        job.fill[c] = (uint8_t)warp->fill.v[warp->fill.n == 1 ? 0 : c];
    cw_elastic(&job);
    return 0;
}

/* Boxes and points are not moved, so where places go is not needed: only whether they do. */
static int motion(const struct cw_op_ctx *ctx, const void *opts,
                  const struct cw_motion_boxes *boxes, struct cw_motion *motion, struct cw_err *err)
{
    const struct elastic_opts *o = opts;
    (void)boxes;
    (void)motion;
    (void)err;
    return cw_u8_op_skips(ctx, o->p) ? 1 : 0;
}

static const struct cw_op_moves moves = {
    .opts_offset = offsetof(struct elastic_opts, moved),
    .motion = motion,
    .infer_mask = cw_u8_op_infer_colours,
};

static bool draws(const void *opts)
{
    const struct elastic_opts *o = opts;
    return o->p > 0;
}

const struct cw_op cw_op_elastic = {
    .name = "elastic",
    .version = 1,
    .summary = "images bent by a smooth random field",
    .doc = "Moves the pixels of u8 images of one channel or three by ways that are drawn for each "
           "pixel and smoothed (Simard et al.,\n"
           "\"Best practices for convolutional neural networks applied to visual document "
           "analysis\", ICDAR 2003), with the\n"
           "numbers of torchvision's ElasticTransform: noise in [-1, 1), blurred with a deviation "
           "of `sigma` and mirrored at the\n"
           "borders, times `alpha` / 2 pixels. In an image of h x w that is not square the ways "
           "along x are longer by w / h, and\n"
           "those along y by h / w, as there. What comes from outside is `fill`, also in samples "
           "between the image and the outside.\n"
           "`masks` follow with their nearest values; boxes and points cannot.\n"
           "\n"
           "Draw 0 says, by `p`, whether an element is changed; draw 1 + i is for pixel i: the "
           "upper 32 bits for the way along x, the\n"
           "lower for that along y, of which 24 bits are used.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_GEOMETRIC | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct elastic_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
    .moves = &moves,
};
