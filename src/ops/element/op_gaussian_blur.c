/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `gaussian_blur`: blurs images by a random amount. */
#include "ops/element/u8_op.h"

#include "ops/kernels/neighbours.h"

#define DRAW_SIGMA 1

struct gaussian_blur_opts {
    struct cw_i64_list size;
    struct cw_f64_list sigma;
    double p;
};

static const struct cw_opt options[] = {
    {.name = "kernel_size",
     .help = "how many samples are mixed, an odd number: [height, width], or one number for both",
     .type = CW_OPT_I64_LIST,
     .offset = offsetof(struct gaussian_blur_opts, size),
     .min = 1,
     .max = CW_BLUR_TAPS_MAX,
     .flags = CW_OPT_REQUIRED,
     .len_min = 1,
     .len_max = 2},
    CW_U8_P_ROW(offsetof(struct gaussian_blur_opts, p), "1.0"),
    {.name = "sigma",
     .help = "least and greatest standard deviation in samples; one number: that",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct gaussian_blur_opts, sigma),
     .def = "[0.1,2.0]",
     .min = 0.01,
     .max = 1000,
     .len_min = 1,
     .len_max = 2},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct gaussian_blur_opts *o = opts;
    for (size_t i = 0; i < o->size.n; i++)
        if (o->size.v[i] % 2 == 0)
            return cw_err_set(err, CW_E_INVALID, "option kernel_size: %lld is not odd",
                              (long long)o->size.v[i]);
    if (o->sigma.v[0] > o->sigma.v[o->sigma.n - 1])
        return cw_err_set(err, CW_E_INVALID, "option sigma: %g is greater than %g", o->sigma.v[0],
                          o->sigma.v[1]);
    return 0;
}

static bool draws_sigma(const struct gaussian_blur_opts *o)
{
    return o->sigma.v[0] < o->sigma.v[o->sigma.n - 1];
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct gaussian_blur_opts *o = opts;
    struct cw_u8_op_image image;
    struct cw_blur_axis x, y;
    (void)state;
    (void)scratch;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const int rc = cw_u8_op_begin(ctx, in, out, &image, err);
    if (rc < 0)
        return rc;
    const double sigma = draws_sigma(o)
                             ? cw_rng_range(&ctx->rng, DRAW_SIGMA, o->sigma.v[0], o->sigma.v[1])
                             : o->sigma.v[0];
    cw_blur_axis_init(&y, (size_t)o->size.v[0], sigma);
    cw_blur_axis_init(&x, (size_t)o->size.v[o->size.n - 1], sigma);
    void *work = cw_op_scratch(ctx, cw_blur_work_bytes(image.h, image.w, image.channels), err);
    if (!work)
        return CW_E_NOMEM;
    cw_blur(&(struct cw_blur_job){.src = image.src,
                                  .dst = image.dst,
                                  .h = image.h,
                                  .w = image.w,
                                  .channels = image.channels,
                                  .x = &x,
                                  .y = &y,
                                  .work = work});
    return 0;
}

static bool draws(const void *opts)
{
    const struct gaussian_blur_opts *o = opts;
    return o->p > 0 && (o->p < 1 || draws_sigma(o));
}

const struct cw_op cw_op_gaussian_blur = {
    .name = "gaussian_blur",
    .version = 1,
    .summary = "images blurred by a random amount",
    .doc =
        "Mixes each sample of u8 images of one channel or three with its neighbours, with the "
        "weights of torchvision's\n"
        "gaussian_blur: a normal distribution of deviation `sigma`, cut off at `kernel_size` and "
        "mirrored at the borders. Weights\n"
        "are rounded to 2^-15 and sums between the two axes to 2^-8, so that a sample differs by 1 "
        "at most from torchvision's,\n"
        "whose sums have no fixed order. Where the kernel is larger than the image, it is "
        "mirrored again. Draw 0 says, by `p`,\n"
        "whether an element is changed, and draw 1 is the deviation.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct gaussian_blur_opts),
    .check = check,
    .accepts = cw_image_accepts_u8,
    .infer_field = cw_u8_op_infer_colours,
    .apply_field = apply_field,
    .facts = cw_u8_op_facts_other,
    .draws = draws,
};
