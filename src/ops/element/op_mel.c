/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `mel`: the frequencies of spectrograms become mel bands, as torchaudio's MelScale
 * makes them, and logarithms if they are wanted. */
#include "ops/element/audio_view.h"
#include "ops/element/mel_filters.h"

#include <math.h>
#include "base/mem.h"
#include "ops/kernels/bands.h"
#include "ops/kernels/exact_f32.h"

enum log_kind { LOG_NONE, LOG_LN, LOG_LOG10, LOG_DB, LOGS };
static const char *const log_names[] = {"none", "ln", "log10", "db", NULL};
static const char *const norm_names[] = {"none", "slaney", NULL};
/* what a natural logarithm is multiplied by */
static const float log_factors[LOGS] = {[LOG_NONE] = 1.0f,
                                        [LOG_LN] = 1.0f,
                                        [LOG_LOG10] = 0.434294481903251828f,
                                        [LOG_DB] = 4.34294481903251828f};

struct mel_opts {
    double f_min, f_max, floor, offset, top_db;
    int64_t n_mels, sample_rate;
    int log, norm, scale;
};

#define OFFSET(member) offsetof(struct mel_opts, member)
static const struct cw_opt options[] = {
    {.name = "f_max",
     .help = "upper end of the last band, in Hz; 0 = half of the sample rate",
     .type = CW_OPT_F64,
     .offset = OFFSET(f_max),
     .def = "0.0",
     .min = 0,
     .max = 1e9},
    {.name = "f_min",
     .help = "lower end of the first band, in Hz",
     .type = CW_OPT_F64,
     .offset = OFFSET(f_min),
     .def = "0.0",
     .min = 0,
     .max = 1e9},
    {.name = "floor",
     .help = "smaller values become it before the logarithm",
     .type = CW_OPT_F64,
     .offset = OFFSET(floor),
     .def = "1e-10",
     .min = 0,
     .max = 1e30},
    {.name = "log",
     .help = "logarithm of the values; db: 10 log10",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(log),
     .def = "\"none\"",
     .names = log_names},
    {.name = "n_mels",
     .help = "number of bands",
     .type = CW_OPT_I64,
     .offset = OFFSET(n_mels),
     .def = "128",
     .min = 1,
     .max = 4096},
    {.name = "norm",
     .help = "slaney: divide each band by half of its width in Hz",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(norm),
     .def = "\"none\"",
     .names = norm_names},
    {.name = "offset",
     .help = "added before the logarithm",
     .type = CW_OPT_F64,
     .offset = OFFSET(offset),
     .def = "0.0",
     .min = 0,
     .max = 1e30},
    {.name = "sample_rate",
     .help = "samples a second of the waveform",
     .type = CW_OPT_I64,
     .offset = OFFSET(sample_rate),
     .def = "16000",
     .min = 1,
     .max = 1000000000},
    {.name = "scale",
     .help = "formula of the mel scale",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(scale),
     .def = "\"htk\"",
     .names = cw_mel_scale_names},
    {.name = "top_db",
     .help = "values that are so far below the greatest one of the element become that; 0: not",
     .type = CW_OPT_F64,
     .offset = OFFSET(top_db),
     .def = "0.0",
     .min = 0,
     .max = 1e6},
    {0},
};

static double f_max_of(const struct mel_opts *o)
{
    return o->f_max > 0 ? o->f_max : (double)(o->sample_rate / 2);
}

static int check(const void *opts, struct cw_err *err)
{
    const struct mel_opts *o = opts;
    if (!(o->f_min < f_max_of(o)))
        return cw_err_set(err, CW_E_INVALID, "option f_min: %g is not less than f_max, %g",
                          o->f_min, f_max_of(o));
    if (o->top_db > 0 && o->log != LOG_DB)
        return cw_err_set(err, CW_E_INVALID, "option top_db: only with log db");
    return 0;
}

static int check_rows(int64_t rows, struct cw_err *err)
{
    if (rows < 2 || rows > CW_MEL_ROWS_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "a spectrogram of %lld frequencies: 2 to %d are possible",
                          (long long)rows, CW_MEL_ROWS_MAX);
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct mel_opts *o = opts;
    struct cw_field field;
    int rc = cw_spectrogram_infer(opts, in, &field, err);
    if (rc == 0 && in->dims[in->rank - 2] >= 0)
        rc = check_rows(in->dims[in->rank - 2], err);
    if (rc < 0)
        return cw_err_wrap(err, "field %s", in->name);
    field.dims[in->rank - 2] = o->n_mels;
    *ret_field = field;
    return 0;
}

/* The filters for the number of frequencies that a thread has seen last. */
struct mel_scratch {
    struct cw_bands bands;
};

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return CW_NEW(struct mel_scratch);
}

static void scratch_free(void *scratch_arg)
{
    struct mel_scratch *scratch = scratch_arg;
    if (scratch)
        cw_bands_fini(&scratch->bands);
    cw_mem_free(scratch);
}

static void prepare(struct mel_scratch *scratch, const struct mel_opts *o, size_t rows)
{
    if (scratch->bands.rows == rows)
        return;
    const struct cw_mel_filters filters = {.n = (size_t)o->n_mels,
                                           .rows = rows,
                                           .sample_rate = o->sample_rate,
                                           .f_min = o->f_min,
                                           .f_max = f_max_of(o),
                                           .scale = (enum cw_mel_scale)o->scale,
                                           .by_width = o->norm != 0};
    cw_autofree float *matrix = CW_NEW_ARRAY(float, filters.n *rows);
    cw_mel_filters_make(&filters, matrix);
    cw_bands_fini(&scratch->bands);
    cw_bands_init(&scratch->bands, filters.n, rows, matrix);
}

static void cut_below_top(float *v, size_t n, float top_db)
{
    float most = -INFINITY;
    for (size_t i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    const float least = most - top_db;
    for (size_t i = 0; i < n; i++)
        v[i] = v[i] < least ? least : v[i];
}

static void take_log(const struct mel_opts *o, float *v, size_t n)
{
    const float offset = (float)o->offset, least = (float)o->floor, factor = log_factors[o->log];
    if (o->log == LOG_NONE)
        return;
    for (size_t i = 0; i < n; i++) {
        const float x = v[i] + offset;
        v[i] = x < least ? least : x;
    }
    cw_exact_log_f32(v, v, n);
    for (size_t i = 0; o->log != LOG_LN && i < n; i++)
        v[i] *= factor;
    if (o->top_db > 0)
        cut_below_top(v, n, (float)o->top_db);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state,
                       void *scratch_arg, const struct cw_view *in, struct cw_view *out,
                       struct cw_err *err)
{
    const struct mel_opts *o = opts;
    struct mel_scratch *scratch = scratch_arg;
    struct cw_spectrogram spectrogram;
    (void)state;
    int rc = cw_spectrogram_get(in, &spectrogram, err);
    if (rc == 0)
        rc = check_rows(spectrogram.rows, err);
    if (rc < 0)
        return rc;
    out->dims[out->rank - 2] = o->n_mels;
    rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    prepare(scratch, o, (size_t)spectrogram.rows);
    const size_t columns = (size_t)spectrogram.columns, from = (size_t)spectrogram.rows * columns,
                 to = (size_t)o->n_mels * columns;
    for (size_t p = 0; p < (size_t)spectrogram.planes; p++) {
        const struct cw_bands_job job = {.bands = &scratch->bands,
                                         .src = spectrogram.data + p * from,
                                         .dst = (float *)out->data + p * to,
                                         .columns = columns};
        cw_bands_run(&job);
    }
    take_log(o, out->data, out->bytes / sizeof(float));
    return 0;
}

const struct cw_op cw_op_mel = {
    .name = "mel",
    .version = 1,
    .summary = "mel spectrograms of spectrograms",
    .doc =
        "f32[..., frequencies, time] becomes f32[..., n_mels, time]: sums over triangular filters, "
        "as "
        "torchaudio's MelScale has\n"
        "them (`scale` htk or slaney, `norm` slaney or none); the filters are computed in double "
        "precision here. Then the logarithm:\n"
        "`offset` is added, what is below `floor` becomes it, and log is ln, log10 or db, which is "
        "10 "
        "log10 as in AmplitudeToDB(\"power\",\n"
        "`top_db`). The defaults of `spectrogram` and `mel` are those of torchaudio's "
        "MelSpectrogram.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct mel_opts),
    .check = check,
    .accepts = cw_spectrogram_accepts,
    .infer_field = infer_field,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
};
