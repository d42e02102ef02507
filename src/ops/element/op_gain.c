/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `gain`: waveforms become louder or softer. */
#include "ops/element/audio_random.h"
#include "ops/kernels/exact_math.h"

struct gain_opts {
    struct cw_f64_list db;
    double p;
};
#define GAIN_DRAW (CW_AUDIO_P_DRAW + 1)
#define LN_10 2.302585092994045684

static const struct cw_opt options[] = {
    {.name = "db",
     .help = "decibels; or the least and the most",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct gain_opts, db),
     .flags = CW_OPT_REQUIRED,
     .min = -200,
     .max = 200,
     .len_min = 1,
     .len_max = 2},
    CW_AUDIO_P_ROW(offsetof(struct gain_opts, p)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct gain_opts *o = opts;
    return cw_audio_check_range("db", &o->db, err);
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_F32 && field->rank >= 1;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    if (in->dtype != CW_DTYPE_F32)
        return cw_err_set(err, CW_E_INVALID, "field %s is %s, not f32", in->name,
                          cw_dtype_name(in->dtype));
    *ret_field = *in;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct gain_opts *o = opts;
    (void)state;
    (void)scratch;
    if (cw_audio_skips(ctx, o->p))
        return 0;
    const double db = cw_audio_draw_range(ctx, GAIN_DRAW, &o->db);
    const float factor = (float)cw_exact_exp(db / 20 * LN_10), *src = in->data;
    const int rc = cw_op_output(ctx, out, err);
    float *dst = out->data;
    for (size_t i = 0; rc == 0 && i < out->bytes / sizeof(*dst); i++)
        dst[i] = src[i] * factor;
    return rc;
}

static bool draws(const void *opts)
{
    const struct gain_opts *o = opts;
    return cw_audio_draws_p(o->p) || (o->p > 0 && cw_audio_draws_range(&o->db));
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)in;
    cw_facts_of_fields(CW_EFFECT_EACH, fields, fields_n, ret_facts);
    ret_facts->keeps_zero = true;
    ret_facts->by_batch = !draws(opts);
}

const struct cw_op cw_op_gain = {
    .name = "gain",
    .version = 1,
    .summary = "louder or softer waveforms",
    .doc = "Multiplies f32 values by 10^(db / 20), as torchaudio's Vol with gain_type db, but does "
           "not "
           "clip them. With two numbers the\n"
           "decibels are drawn between them. Draw 0 says, by `p`, whether an element is changed; "
           "draw 1 "
           "are the decibels.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_POINTWISE | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct gain_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = facts,
    .draws = draws,
};
