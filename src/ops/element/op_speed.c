/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `speed`: waveforms are played faster or slower, with their pitch. */
#include "ops/element/audio_random.h"
#include "ops/element/waveform_resample.h"

struct speed_opts {
    struct cw_f64_list factors;
    int64_t sample_rate;
    double p;
};
#define FACTOR_DRAW (CW_AUDIO_P_DRAW + 1)

/* torchaudio's defaults of resample */
#define FILTER_WIDTH 6
#define ROLLOFF 0.99

#define OFFSET(member) offsetof(struct speed_opts, member)
static const struct cw_opt options[] = {
    {.name = "factors",
     .help = "how much faster; one is drawn for each element",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(factors),
     .flags = CW_OPT_REQUIRED,
     .min = 0.1,
     .max = 10,
     .len_min = 1,
     .len_max = 16},
    CW_AUDIO_P_ROW(OFFSET(p)),
    {.name = "sample_rate",
     .help = "samples a second; factors are rounded to its parts",
     .type = CW_OPT_I64,
     .offset = OFFSET(sample_rate),
     .def = "16000",
     .min = 10,
     .max = 1000000},
    {0},
};

static struct cw_sinc_design design_of(const struct speed_opts *o, double factor)
{
    return (struct cw_sinc_design){.from = (int64_t)(factor * (double)o->sample_rate),
                                   .to = o->sample_rate,
                                   .width = FILTER_WIDTH,
                                   .rolloff = ROLLOFF,
                                   .window = CW_SINC_HANN};
}

static int check(const void *opts, struct cw_err *err)
{
    const struct speed_opts *o = opts;
    for (size_t i = 0; i < o->factors.n; i++) {
        const struct cw_sinc_design design = design_of(o, o->factors.v[i]);
        struct cw_sinc sinc;
        const int rc = cw_sinc_init(&sinc, &design, err);
        if (rc < 0)
            return cw_err_wrap(err, "option factors: %g", o->factors.v[i]);
        cw_sinc_fini(&sinc);
    }
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const int rc = cw_waveform_infer(opts, in, ret_field, err);
    if (rc == 0)
        ret_field->dims[0] = -1;
    return rc;
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return cw_waveform_resampler_new();
}

static void scratch_free(void *scratch)
{
    cw_waveform_resampler_free(scratch);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct speed_opts *o = opts;
    struct cw_waveform waveform;
    (void)state;
    if (cw_audio_skips(ctx, o->p))
        return 0;
    const int rc = cw_waveform_get(in, &waveform, err);
    const size_t which =
        o->factors.n > 1 ? (size_t)cw_rng_below(&ctx->rng, FACTOR_DRAW, o->factors.n) : 0;
    const struct cw_sinc_design design = design_of(o, o->factors.v[which]);
    if (rc < 0 || design.from == design.to)
        return rc;
    return cw_waveform_resample(scratch, ctx, &design, &waveform, out, err);
}

static bool draws(const void *opts)
{
    const struct speed_opts *o = opts;
    return cw_audio_draws_p(o->p) || (o->p > 0 && o->factors.n > 1);
}

const struct cw_op cw_op_speed = {
    .name = "speed",
    .version = 1,
    .summary = "faster or slower waveforms",
    .doc = "Waveforms are resampled from factor x sample_rate (rounded down) to sample_rate, so "
           "that they "
           "are as many times faster, as\n"
           "torchaudio's SpeedPerturbation. Draw 0 says, by `p`, whether an element is changed; "
           "draw 1 is "
           "the number of its factor, if there\n"
           "are several.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct speed_opts),
    .check = check,
    .accepts = cw_waveform_accepts,
    .infer_field = infer_field,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
    .draws = draws,
};
