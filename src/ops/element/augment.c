/* SPDX-License-Identifier: Apache-2.0 */
/* Changes by name and magnitude, one after the other. */
#include "ops/element/augment.h"

#include <math.h>
#include <string.h>
#include "ops/element/histogram_op.h"
#include "ops/kernels/colour.h"
#include "ops/kernels/neighbours.h"

/* ---- magnitudes ---- */

/* The last magnitude of those that have a sign, or are 0; of translations it is for 331 pixels, or
 * in pixels if wide. */
static const float most[][2] = {
    [CW_AUGMENT_IDENTITY] = {0, 0},          [CW_AUGMENT_SHEAR_X] = {0.3f, 0.99f},
    [CW_AUGMENT_SHEAR_Y] = {0.3f, 0.99f},    [CW_AUGMENT_TRANSLATE_X] = {150, 32},
    [CW_AUGMENT_TRANSLATE_Y] = {150, 32},    [CW_AUGMENT_ROTATE] = {30, 135},
    [CW_AUGMENT_BRIGHTNESS] = {0.9f, 0.99f}, [CW_AUGMENT_COLOR] = {0.9f, 0.99f},
    [CW_AUGMENT_CONTRAST] = {0.9f, 0.99f},   [CW_AUGMENT_SHARPNESS] = {0.9f, 0.99f},
};

bool cw_augment_is_signed(enum cw_augment change)
{
    return change >= CW_AUGMENT_SHEAR_X && change <= CW_AUGMENT_SHARPNESS;
}

float cw_augment_spread(float from, float to, int64_t bins, int64_t bin)
{
    if (bins == 1)
        return from;
    const float step = (to - from) / (float)(bins - 1);
    return bin < bins / 2 ? from + step * (float)bin : to - step * (float)(bins - 1 - bin);
}

double cw_augment_magnitude(const struct cw_augment_space *space, enum cw_augment change,
                            int64_t bin, size_t h, size_t w)
{
    if (change == CW_AUGMENT_POSTERIZE) {
        const double bits = space->wide ? 6 : 4;
        const float fewer = (float)bin / (float)((double)(space->bins - 1) / bits);
        return space->bins == 1 ? 8 : 8 - rint((double)fewer);
    }
    if (change == CW_AUGMENT_SOLARIZE)
        return (double)cw_augment_spread(255, 0, space->bins, bin);
    if (!cw_augment_is_signed(change))
        return 0;
    const bool moves = change == CW_AUGMENT_TRANSLATE_X || change == CW_AUGMENT_TRANSLATE_Y;
    float last = most[change][space->wide];
    if (moves && !space->wide)
        last = (float)(150.0 / 331.0 * (double)(change == CW_AUGMENT_TRANSLATE_X ? w : h));
    return (double)cw_augment_spread(0, last, space->bins, bin);
}

/* ---- changes ---- */

static struct cw_warp_matrix matrix_of(enum cw_augment change, double magnitude, size_t h, size_t w)
{
    struct cw_warp_matrix matrix = {.m = {1, 0, 0, 0, 1, 0}};
    if (change == CW_AUGMENT_ROTATE)
        return cw_warp_rotation(magnitude, (int64_t)h, (int64_t)w);
    if (change == CW_AUGMENT_SHEAR_X)
        matrix.m[1] = magnitude;
    else if (change == CW_AUGMENT_SHEAR_Y)
        matrix.m[3] = magnitude;
    else if (change == CW_AUGMENT_TRANSLATE_X)
        matrix.m[2] = -trunc(magnitude);
    else
        matrix.m[5] = -trunc(magnitude);
    return matrix;
}

static void blend_with(const struct cw_u8_op_image *image, int constant, double magnitude,
                       const uint8_t *src, uint8_t *dst)
{
    uint8_t table[256];
    cw_tone_from(constant, (float)(1.0 + magnitude), table);
    cw_tone_map(dst, src, image->pixels * image->channels, table);
}

static void saturate(const struct cw_u8_op_image *image, double magnitude, const uint8_t *src,
                     uint8_t *dst)
{
    if (image->channels == 3)
        cw_colour_saturate(dst, src, image->pixels, (float)(1.0 + magnitude));
    else
        memcpy(dst, src, image->pixels);
}

static int change_image(const struct cw_augment_run *run, enum cw_augment change, double magnitude,
                        uint8_t *dst, struct cw_err *err)
{
    const struct cw_u8_op_image *image = &run->image;
    const uint8_t *src = run->at;
    const size_t n = image->pixels * image->channels;
    struct cw_warp_matrix matrix;
    switch (change) {
    case CW_AUGMENT_IDENTITY:
        memcpy(dst, src, n);
        return 0;
    case CW_AUGMENT_SHEAR_X:
    case CW_AUGMENT_SHEAR_Y:
    case CW_AUGMENT_TRANSLATE_X:
    case CW_AUGMENT_TRANSLATE_Y:
    case CW_AUGMENT_ROTATE:
        matrix = matrix_of(change, magnitude, image->h, image->w);
        return cw_warp_op_run(run->warp, image, &matrix, src, dst, err);
    case CW_AUGMENT_BRIGHTNESS:
        blend_with(image, 0, magnitude, src, dst);
        return 0;
    case CW_AUGMENT_COLOR:
        saturate(image, magnitude, src, dst);
        return 0;
    case CW_AUGMENT_CONTRAST:
        blend_with(image, cw_colour_mean(src, image->pixels, image->channels), magnitude, src, dst);
        return 0;
    case CW_AUGMENT_SHARPNESS:
        cw_sharpen(dst, src, image->h, image->w, image->channels, (float)(1.0 + magnitude));
        return 0;
    case CW_AUGMENT_POSTERIZE:
        cw_tone_bits(dst, src, n, 256, (uint8_t)(0xff00u >> (unsigned)magnitude));
        return 0;
    case CW_AUGMENT_SOLARIZE:
        cw_tone_bits(dst, src, n, (unsigned)ceil(magnitude), 255);
        return 0;
    case CW_AUGMENT_AUTO_CONTRAST:
        cw_histogram_op_map(image, cw_tone_auto_contrast, src, dst);
        return 0;
    case CW_AUGMENT_EQUALIZE:
        cw_histogram_op_map(image, cw_tone_equalize, src, dst);
        return 0;
    case CW_AUGMENT_INVERT:
        cw_tone_bits(dst, src, n, 0, 255);
    }
    return 0;
}

/* ---- one after the other ---- */

static int begin(const struct cw_op_ctx *ctx, const struct cw_warp_op_opts *warp,
                 const struct cw_view *in, struct cw_view *out, struct cw_augment_run *ret_run,
                 struct cw_err *err)
{
    *ret_run = (struct cw_augment_run){.warp = warp};
    const int rc = cw_u8_op_begin(ctx, in, out, &ret_run->image, err);
    if (rc < 0)
        return rc;
    ret_run->at = ret_run->image.src;
    ret_run->spare = cw_op_scratch(ctx, ret_run->image.pixels * ret_run->image.channels, err);
    return ret_run->spare ? 0 : CW_E_NOMEM;
}

int cw_augment_apply(struct cw_augment_run *run, enum cw_augment change, double magnitude,
                     struct cw_err *err)
{
    if (change == CW_AUGMENT_IDENTITY)
        return 0;
    uint8_t *dst = run->at == run->image.dst ? run->spare : run->image.dst;
    const int rc = change_image(run, change, magnitude, dst, err);
    run->at = dst;
    return rc;
}

double cw_augment_with_sign(const struct cw_op_ctx *ctx, uint32_t draw, uint64_t negative,
                            enum cw_augment change, double magnitude)
{
    return cw_augment_is_signed(change) && cw_rng_below(&ctx->rng, draw, 2) == negative ? -magnitude
                                                                                        : magnitude;
}

/* ---- what the operators share ---- */

int cw_augment_check(const void *opts, struct cw_err *err)
{
    const struct cw_augment_opts *o = opts;
    return cw_warp_op_check(&o->warp, err);
}

int cw_augment_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                     struct cw_err *err)
{
    const struct cw_augment_opts *o = opts;
    return cw_warp_op_infer(&o->warp, in, ret_field, err);
}

bool cw_augment_draws(const void *opts)
{
    const struct cw_augment_opts *o = opts;
    return o->p > 0;
}

int cw_augment_element(const struct cw_op_ctx *ctx, const void *opts, cw_augment_fn *change,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct cw_augment_opts *o = opts;
    struct cw_augment_run run;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    int rc = begin(ctx, &o->warp, in, out, &run, err);
    if (rc == 0)
        rc = change(ctx, opts, &run, err);
    if (rc == 0 && run.at != run.image.dst)
        memcpy(run.image.dst, run.at, run.image.pixels * run.image.channels);
    return rc;
}
