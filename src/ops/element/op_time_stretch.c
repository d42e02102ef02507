/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `time_stretch`: complex spectrograms become faster or slower, and keep their
 * pitch. */
#include "ops/element/audio_random.h"
#include "ops/element/audio_view.h"

#include <math.h>

struct time_stretch_opts {
    struct cw_f64_list rate;
    double p;
    int64_t power;
};
#define RATE_DRAW (CW_AUDIO_P_DRAW + 1)

#define OFFSET(member) offsetof(struct time_stretch_opts, member)
static const struct cw_opt options[] = {
    CW_AUDIO_P_ROW(OFFSET(p)),
    {.name = "power",
     .help = "2: squares of magnitudes come out; 1: magnitudes; 0: complex numbers again",
     .type = CW_OPT_I64,
     .offset = OFFSET(power),
     .def = "0",
     .min = 0,
     .max = 2},
    {.name = "rate",
     .help = "how much faster; or the least and the most",
     .type = CW_OPT_F64_LIST,
     .offset = OFFSET(rate),
     .flags = CW_OPT_REQUIRED,
     .min = 0.01,
     .max = 100,
     .len_min = 1,
     .len_max = 2},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct time_stretch_opts *o = opts;
    return cw_audio_check_range("rate", &o->rate, err);
}

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_F32 && field->rank >= 3 && field->dims[field->rank - 1] == 2;
}

static int64_t length_of(int64_t columns, double rate)
{
    return (int64_t)ceil((double)columns / rate);
}

/* The rate of the operator if it is the same for all elements, or 0. */
static double fixed_rate(const struct time_stretch_opts *o)
{
    const double rate = cw_audio_draws_range(&o->rate) ? 0 : o->rate.v[0];
    return o->p >= 1 ? rate : o->p > 0 ? 0 : 1;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct time_stretch_opts *o = opts;
    const double rate = fixed_rate(o);
    if (!accepts(in))
        return cw_err_set(
            err, CW_E_INVALID,
            "field %s is no complex spectrogram f32[frequencies, time, 2] (`spectrogram` "
            "with power 0)",
            in->name);
    *ret_field = *in;
    int64_t *time = &ret_field->dims[in->rank - 2];
    *time = rate > 0 && *time >= 0 ? length_of(*time, rate) : -1;
    ret_field->rank -= o->power > 0;
    return 0;
}

/* Columns of the result: each lies between two of the input, or on one. */
struct place {
    int64_t column;
    float part; /* how far it is on the way to the next one */
};

static struct place place_of(int64_t i, double rate)
{
    const float at = (float)((double)i * rate);
    return (struct place){.column = (int64_t)at, .part = at - floorf(at)};
}

/* A row of complex numbers; beyond its end it is 0. */
struct row {
    const float *values;
    int64_t n;
};

static void value_at(const struct row *row, int64_t i, double ret[2])
{
    ret[0] = i < row->n ? (double)row->values[2 * i] : 0.0;
    ret[1] = i < row->n ? (double)row->values[2 * i + 1] : 0.0;
}

static float magnitude_at(const struct row *row, int64_t i)
{
    if (i >= row->n)
        return 0.0f;
    const float re = row->values[2 * i], im = row->values[2 * i + 1];
    return sqrtf(re * re + im * im);
}

/* v becomes a number of magnitude 1 with the same angle; that of 0 is 0, that of -0 half a turn, as
 * atan2 has it. */
static void to_unit(double v[2])
{
    const double size = sqrt(v[0] * v[0] + v[1] * v[1]);
    if (size <= 0) {
        v[0] = copysign(1.0, v[0]);
        v[1] = 0;
        return;
    }
    v[0] /= size;
    v[1] /= size;
}

/* phase is turned by the angle from one column to the next: that of the phase vocoder, since what it takes
 * off and adds again are whole turns. */
static void turn(const struct row *row, int64_t column, double phase[2])
{
    double a[2], b[2];
    value_at(row, column, a);
    value_at(row, column + 1, b);
    to_unit(a);
    to_unit(b);
    const double re = a[0] * b[0] + a[1] * b[1], im = a[0] * b[1] - a[1] * b[0];
    const double turned = phase[0] * re - phase[1] * im;
    phase[1] = phase[0] * im + phase[1] * re;
    phase[0] = turned;
}

static float blend(const struct row *row, struct place place)
{
    const float a = magnitude_at(row, place.column), b = magnitude_at(row, place.column + 1);
    return place.part * b + (1.0f - place.part) * a;
}

static void stretch_complex(const struct row *row, double rate, float *dst, int64_t n)
{
    double phase[2];
    value_at(row, 0, phase);
    to_unit(phase);
    for (int64_t i = 0; i < n; i++) {
        const struct place place = place_of(i, rate);
        const float size = blend(row, place);
        dst[2 * i] = (float)(phase[0] * (double)size);
        dst[2 * i + 1] = (float)(phase[1] * (double)size);
        turn(row, place.column, phase);
    }
}

static void stretch_sizes(const struct row *row, double rate, bool squares, float *dst, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float size = blend(row, place_of(i, rate));
        dst[i] = squares ? size * size : size;
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct time_stretch_opts *o = opts;
    const bool skips = cw_audio_skips(ctx, o->p);
    const double rate = skips ? 1 : cw_audio_draw_range(ctx, RATE_DRAW, &o->rate);
    (void)state;
    (void)scratch;
    const int64_t columns = in->dims[in->rank - 2], n = length_of(columns, rate);
    int64_t rows = 1;
    for (int i = 0; i < in->rank - 2; i++)
        rows *= in->dims[i];
    const bool same = !(rate < 1) && !(rate > 1);
    if (same && o->power == 0)
        return 0;
    out->dims[in->rank - 2] = n;
    out->rank = in->rank - (o->power > 0);
    const int rc = cw_op_output(ctx, out, err);
    float *dst = out->data;
    for (int64_t r = 0; rc == 0 && r < rows; r++) {
        const struct row row = {(const float *)in->data + 2 * r * columns, columns};
        if (o->power == 0)
            stretch_complex(&row, rate, dst + 2 * r * n, n);
        else
            stretch_sizes(&row, rate, o->power == 2, dst + r * n, n);
    }
    return rc;
}

static bool draws(const void *opts)
{
    const struct time_stretch_opts *o = opts;
    return cw_audio_draws_p(o->p) || (o->p > 0 && cw_audio_draws_range(&o->rate));
}

const struct cw_op cw_op_time_stretch = {
    .name = "time_stretch",
    .version = 1,
    .summary = "faster or slower spectrograms of the same pitch",
    .doc =
        "f32[..., frequencies, time, 2], complex numbers as `spectrogram` gives them with power 0, "
        "gets "
        "ceil(time / rate) times, as\n"
        "torchaudio's TimeStretch (a phase vocoder): magnitudes are interpolated, and angles go on "
        "as "
        "those of the columns do. The angles\n"
        "are multiplied as complex numbers in double precision, so hop and n_fft do not matter. "
        "With "
        "`power` only magnitudes or their\n"
        "squares come out. With two numbers the rate is drawn between them. Draw 0 says, by `p`, "
        "whether an element is stretched;\n"
        "draw 1 is the rate.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct time_stretch_opts),
    .check = check,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
    .draws = draws,
};
