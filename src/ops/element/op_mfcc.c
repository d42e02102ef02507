/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `mfcc`: cepstral coefficients of mel spectrograms. */
#include "ops/element/audio_view.h"

#include <math.h>
#include "base/mem.h"
#include "ops/kernels/bands.h"
#include "ops/kernels/exact_math.h"

enum norm { NORM_ORTHO, NORM_NONE };
static const char *const norm_names[] = {"ortho", "none", NULL};

struct mfcc_opts {
    int64_t n_mfcc;
    int norm;
};
#define PI 3.14159265358979323846
#define ROWS_MAX 4096

static const struct cw_opt options[] = {
    {.name = "n_mfcc",
     .help = "number of coefficients",
     .type = CW_OPT_I64,
     .offset = offsetof(struct mfcc_opts, n_mfcc),
     .def = "40",
     .min = 1,
     .max = ROWS_MAX},
    {.name = "norm",
     .help = "ortho: the transform is orthonormal",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct mfcc_opts, norm),
     .def = "\"ortho\"",
     .names = norm_names},
    {0},
};

static int check_rows(const struct mfcc_opts *o, int64_t rows, struct cw_err *err)
{
    if (rows < o->n_mfcc || rows > ROWS_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "a mel spectrogram of %lld bands: n_mfcc, %lld, to %d are possible",
                          (long long)rows, (long long)o->n_mfcc, ROWS_MAX);
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct mfcc_opts *o = opts;
    struct cw_field field;
    int rc = cw_spectrogram_infer(opts, in, &field, err);
    if (rc == 0 && in->dims[in->rank - 2] >= 0)
        rc = check_rows(o, in->dims[in->rank - 2], err);
    if (rc < 0)
        return cw_err_wrap(err, "field %s", in->name);
    field.dims[in->rank - 2] = o->n_mfcc;
    *ret_field = field;
    return 0;
}

/* The transform for the number of bands that a thread has seen last. */
static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return CW_NEW(struct cw_bands);
}

static void scratch_free(void *scratch)
{
    if (scratch)
        cw_bands_fini(scratch);
    cw_mem_free(scratch);
}

static void prepare(struct cw_bands *bands, const struct mfcc_opts *o, size_t rows)
{
    const size_t n = (size_t)o->n_mfcc;
    if (bands->rows == rows)
        return;
    cw_autofree float *matrix = CW_NEW_ARRAY(float, n *rows);
    for (size_t k = 0; k < n; k++)
        for (size_t m = 0; m < rows; m++) {
            const double v = cw_exact_cos(PI / (double)rows * ((double)m + 0.5) * (double)k);
            const double ortho = sqrt((k == 0 ? 1.0 : 2.0) / (double)rows);
            matrix[k * rows + m] = (float)(v * (o->norm == NORM_ORTHO ? ortho : 2.0));
        }
    cw_bands_fini(bands);
    cw_bands_init(bands, n, rows, matrix);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct mfcc_opts *o = opts;
    struct cw_spectrogram spectrogram;
    (void)state;
    int rc = cw_spectrogram_get(in, &spectrogram, err);
    if (rc == 0)
        rc = check_rows(o, spectrogram.rows, err);
    if (rc < 0)
        return rc;
    out->dims[out->rank - 2] = o->n_mfcc;
    rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    prepare(scratch, o, (size_t)spectrogram.rows);
    for (int64_t p = 0; p < spectrogram.planes; p++) {
        const struct cw_bands_job job = {
            .bands = scratch,
            .src = spectrogram.data + p * spectrogram.rows * spectrogram.columns,
            .dst = (float *)out->data + p * o->n_mfcc * spectrogram.columns,
            .columns = (size_t)spectrogram.columns};
        cw_bands_run(&job);
    }
    return 0;
}

const struct cw_op cw_op_mfcc = {
    .name = "mfcc",
    .version = 1,
    .summary = "cepstral coefficients of mel spectrograms",
    .doc =
        "f32[..., n_mels, time], logarithms as `mel` gives them, becomes f32[..., n_mfcc, time]: "
        "the "
        "first coefficients of a cosine\n"
        "transform (DCT-II) over the bands, with the matrix of torchaudio.functional.create_dct. "
        "`spectrogram`, `mel` with log db and\n"
        "top_db 80, and `mfcc` are torchaudio's MFCC; `mel` with log ln and offset 1e-6 is its "
        "log_mels.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_SHRINK | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct mfcc_opts),
    .accepts = cw_spectrogram_accepts,
    .infer_field = infer_field,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
};
