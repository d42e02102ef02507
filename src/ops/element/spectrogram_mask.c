/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/spectrogram_mask.h"

#include <string.h>

#define FIRST_DRAW (CW_AUDIO_P_DRAW + 1)
#define DRAWS_A_MASK 2

struct stretch {
    int64_t start, n;
};

/* A stretch of `size`, drawn as torchaudio's mask_along_axis draws it. */
static struct stretch draw_stretch(const struct cw_op_ctx *ctx, const struct cw_mask_opts *o,
                                   uint32_t mask, int64_t size)
{
    const uint32_t draw = FIRST_DRAW + mask * DRAWS_A_MASK;
    const int64_t part = (int64_t)((double)size * o->share);
    const double most = (double)(o->share < 1 ? CW_MIN(o->width, part) : CW_MIN(o->width, size));
    const double n = cw_rng_unit(&ctx->rng, draw) * most;
    const double start = cw_rng_unit(&ctx->rng, draw + 1) * ((double)size - n);
    return (struct stretch){.start = (int64_t)start, .n = (int64_t)n};
}

static void overwrite(float *dst, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = value;
}

static void mask_columns(const struct cw_spectrogram *spectrogram, struct stretch stretch,
                         float value, float *dst)
{
    for (int64_t row = 0; row < spectrogram->planes * spectrogram->rows; row++)
        overwrite(dst + row * spectrogram->columns + stretch.start, stretch.n, value);
}

static void mask_rows(const struct cw_spectrogram *spectrogram, struct stretch stretch, float value,
                      float *dst)
{
    for (int64_t plane = 0; plane < spectrogram->planes; plane++)
        overwrite(dst + (plane * spectrogram->rows + stretch.start) * spectrogram->columns,
                  stretch.n * spectrogram->columns, value);
}

int cw_mask_apply(const struct cw_op_ctx *ctx, const struct cw_mask_opts *o, bool columns,
                  const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    struct cw_spectrogram spectrogram;
    if (cw_audio_skips(ctx, o->p))
        return 0;
    int rc = cw_spectrogram_get(in, &spectrogram, err);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    if (rc < 0 || out->bytes == 0)
        return rc;
    memcpy(out->data, in->data, out->bytes);
    const int64_t size = columns ? spectrogram.columns : spectrogram.rows;
    for (int64_t i = 0; i < o->count; i++) {
        const struct stretch stretch = draw_stretch(ctx, o, (uint32_t)i, size);
        if (columns)
            mask_columns(&spectrogram, stretch, (float)o->value, out->data);
        else
            mask_rows(&spectrogram, stretch, (float)o->value, out->data);
    }
    return 0;
}

bool cw_mask_draws(const void *opts)
{
    const struct cw_mask_opts *o = opts;
    return o->p > 0;
}
