/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `add_noise`: noise at a ratio of signal to noise. */
#include "ops/element/audio_random.h"
#include "ops/element/audio_view.h"

#include <math.h>
#include <string.h>
#include "ops/kernels/exact_math.h"
#include "ops/kernels/kernel_table.h"

struct add_noise_opts {
    char *field, *noise;
    struct cw_f64_list snr;
    double p;
};
#define SNR_DRAW (CW_AUDIO_P_DRAW + 1)
#define FIRST_NOISE_DRAW (CW_AUDIO_P_DRAW + 2)
#define PI 3.14159265358979323846
#define LN_10 2.302585092994045684

#define OFFSET(member) offsetof(struct add_noise_opts, member)
static const struct cw_opt options[] = {
    {.name = "field",
     .help = "the waveform",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"audio\""},
    {.name = "noise",
     .help = "the waveform that is added; \"\": white noise, which is drawn",
     .type = CW_OPT_STR,
     .offset = OFFSET(noise),
     .def = "\"\""},
    CW_AUDIO_P_ROW(OFFSET(p)),
    {.name = "snr",
     .help = "signal by noise in decibels; or the least and the most",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(snr),
     .flags = CW_OPT_REQUIRED,
     .min = -200,
     .max = 200,
     .len_min = 1,
     .len_max = 2},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct add_noise_opts *o = opts;
    return cw_audio_check_range("snr", &o->snr, err);
}

static int check_field(const struct cw_spec *in, const char *option, const char *name,
                       struct cw_err *err)
{
    struct cw_field field;
    const int at = cw_spec_find(in, name);
    if (at < 0)
        return cw_err_set(err, CW_E_INVALID, "option %s: there is no field \"%s\"", option, name);
    return cw_waveform_infer(NULL, &in->fields[at], &field, err);
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct add_noise_opts *o = opts;
    (void)in_n;
    int rc = check_field(in, "field", o->field, err);
    if (rc == 0 && *o->noise)
        rc = check_field(in, "noise", o->noise, err);
    if (rc == 0)
        *ret_spec = cw_spec_copy(in);
    return rc;
}

/* Normal deviates, two of two draws (Box and Muller). */
static void draw_noise(const struct cw_op_ctx *ctx, float *dst, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        const uint32_t draw = FIRST_NOISE_DRAW + (uint32_t)i;
        const double size = sqrt(-2 * cw_exact_log(1 - cw_rng_unit(&ctx->rng, draw)));
        const double angle = 2 * PI * cw_rng_unit(&ctx->rng, draw + 1);
        dst[i] = (float)(size * cw_exact_cos(angle));
        if (i + 1 < n)
            dst[i + 1] = (float)(size * cw_exact_sin(angle));
    }
}

/* Copies a waveform again and again, as long as the other one is. */
static void repeat_noise(const struct cw_waveform *noise, float *dst, size_t n)
{
    const size_t period = (size_t)(noise->frames * noise->channels);
    for (size_t i = 0; i < n; i += period)
        memcpy(dst + i, noise->data, CW_MIN(period, n - i) * sizeof(*dst));
}

static int make_noise(const struct cw_op_ctx *ctx, const struct add_noise_opts *o,
                      const struct cw_element *element, const struct cw_waveform *waveform,
                      float *dst, struct cw_err *err)
{
    const size_t n = (size_t)(waveform->frames * waveform->channels);
    struct cw_waveform noise;
    if (!*o->noise) {
        draw_noise(ctx, dst, n);
        return 0;
    }
    const int rc = cw_waveform_get(&element->fields[cw_spec_find(ctx->in, o->noise)], &noise, err);
    if (rc < 0)
        return rc;
    if (noise.channels != waveform->channels || noise.frames == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "noise of %lld frames and %lld channels for a waveform of %lld channels",
                          (long long)noise.frames, (long long)noise.channels,
                          (long long)waveform->channels);
    repeat_noise(&noise, dst, n);
    return 0;
}

static double energy(const float *x, size_t n, size_t step)
{
    double sum = 0;
    for (size_t i = 0; i < n; i += step)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* noise becomes the waveform with the noise, one channel. */
static void mix(const float *x, float *noise, size_t n, size_t step, double snr)
{
    const double of_noise = energy(noise, n, step);
    const double ratio = of_noise > 0 ? energy(x, n, step) / of_noise : 0;
    const float scale = (float)(sqrt(ratio) * cw_exact_exp(-snr / 20 * LN_10));
    for (size_t i = 0; i < n; i += step)
        noise[i] = x[i] + scale * noise[i];
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct add_noise_opts *o = opts;
    struct cw_view *view = &element->fields[cw_spec_find(ctx->in, o->field)];
    struct cw_waveform waveform;
    (void)state;
    (void)scratch;
    if (cw_audio_skips(ctx, o->p))
        return 0;
    int rc = cw_waveform_get(view, &waveform, err);
    if (rc < 0 || waveform.frames == 0)
        return rc;
    float *out = cw_op_scratch(ctx, view->bytes, err);
    rc = out ? make_noise(ctx, o, element, &waveform, out, err) : CW_E_NOMEM;
    if (rc < 0)
        return rc;
    const double snr = cw_audio_draw_range(ctx, SNR_DRAW, &o->snr);
    const size_t step = (size_t)waveform.channels, n = (size_t)waveform.frames * step;
    for (size_t c = 0; c < step; c++)
        mix(waveform.data + c, out + c, n - c, step, snr);
    cw_kernels()->one_nan(out, n);
    view->data = out;
    return 0;
}

static bool draws(const void *opts)
{
    const struct add_noise_opts *o = opts;
    return cw_audio_draws_p(o->p) || (o->p > 0 && (!*o->noise || cw_audio_draws_range(&o->snr)));
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct add_noise_opts *o = opts;
    const size_t at = (size_t)cw_spec_find(in, o->field);
    (void)fields;
    (void)fields_n;
    cw_facts_of_fields(CW_EFFECT_OTHER, &at, 1, ret_facts);
    if (*o->noise)
        cw_field_set_add(&ret_facts->reads, (size_t)cw_spec_find(in, o->noise));
    ret_facts->refuses = true;
}

const struct cw_op cw_op_add_noise = {
    .name = "add_noise",
    .version = 1,
    .summary = "waveforms with noise",
    .doc = "Adds noise with `snr` decibels less energy than the waveform, channel by channel, as "
           "torchaudio.functional.add_noise: a waveform\n"
           "of the element (`noise`), again and again if it is shorter, or white noise. Nothing is "
           "added "
           "where the noise is silence. Draw 0\n"
           "says, by `p`, whether an element is changed; draw 1 is the ratio; draws 2 + 2 i and 3 "
           "+ 2 i "
           "make samples 2 i and 2 i + 1 of white\n"
           "noise (Box and Muller).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct add_noise_opts),
    .check = check,
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .draws = draws,
};
