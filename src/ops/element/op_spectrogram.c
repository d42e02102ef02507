/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `spectrogram`: waveforms become spectrograms, as torchaudio's Spectrogram makes
 * them. */
#include "ops/element/audio_view.h"
#include "ops/element/audio_window.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/stft.h"

enum edge { EDGE_REFLECT, EDGE_CONSTANT, EDGE_REPLICATE };
static const char *const edge_names[] = {"reflect", "constant", "replicate", NULL};
enum norm { NORM_NONE, NORM_WINDOW, NORM_FRAME_LENGTH };
static const char *const norm_names[] = {"none", "window", "frame_length", NULL};

struct spectrogram_opts {
    int64_t n_fft, win_length, hop, pad, power;
    int window, pad_mode, normalized;
    bool center;
};

#define OFFSET(member) offsetof(struct spectrogram_opts, member)
static const struct cw_opt options[] = {
    {.name = "center",
     .help = "frame t has its middle at sample t x hop: half a frame is put on both sides",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(center),
     .def = "true"},
    {.name = "hop",
     .help = "samples from one frame to the next; 0 = half of win_length",
     .type = CW_OPT_I64,
     .offset = OFFSET(hop),
     .def = "0",
     .min = 0,
     .max = 1 << 20},
    {.name = "n_fft",
     .help = "samples of a frame: 2^a 3^b 5^c",
     .type = CW_OPT_I64,
     .offset = OFFSET(n_fft),
     .def = "400",
     .min = 1,
     .max = CW_STFT_N_MAX},
    {.name = "normalized",
     .help = "divide by the root of the window's energy, or of n_fft",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(normalized),
     .def = "\"none\"",
     .names = norm_names},
    {.name = "pad",
     .help = "zeros put on both sides first",
     .type = CW_OPT_I64,
     .offset = OFFSET(pad),
     .def = "0",
     .min = 0,
     .max = 1 << 24},
    {.name = "pad_mode",
     .help = "what center puts there",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(pad_mode),
     .def = "\"reflect\"",
     .names = edge_names},
    {.name = "power",
     .help = "2: squares of magnitudes; 1: magnitudes; 0: complex numbers, a last dimension of 2",
     .type = CW_OPT_I64,
     .offset = OFFSET(power),
     .def = "2",
     .min = 0,
     .max = 2},
    {.name = "win_length",
     .help = "samples of the window, in the middle of the frame; 0 = n_fft",
     .type = CW_OPT_I64,
     .offset = OFFSET(win_length),
     .def = "0",
     .min = 0,
     .max = CW_STFT_N_MAX},
    {.name = "window",
     .help = "its form",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(window),
     .def = "\"hann\"",
     .names = cw_window_names},
    {0},
};

static int64_t window_length(const struct spectrogram_opts *o)
{
    return o->win_length ? o->win_length : o->n_fft;
}

static int64_t hop_of(const struct spectrogram_opts *o)
{
    return o->hop ? o->hop : CW_MAX(window_length(o) / 2, 1);
}

static int check(const void *opts, struct cw_err *err)
{
    const struct spectrogram_opts *o = opts;
    if (!cw_stft_can((size_t)o->n_fft))
        return cw_err_set(err, CW_E_INVALID,
                          "option n_fft: %lld has other prime factors than 2, 3 and 5",
                          (long long)o->n_fft);
    if (o->win_length > o->n_fft)
        return cw_err_set(err, CW_E_INVALID, "option win_length: %lld is greater than n_fft, %lld",
                          (long long)o->win_length, (long long)o->n_fft);
    return 0;
}

/* How many frames a waveform has; less than 1: it is too short. */
static int64_t frames_of(const struct spectrogram_opts *o, int64_t samples)
{
    const int64_t edge = o->center ? o->n_fft / 2 : 0, padded = samples + 2 * o->pad;
    if (padded < 1 || (edge > 0 && o->pad_mode == EDGE_REFLECT && padded <= edge))
        return 0;
    return padded + 2 * edge < o->n_fft ? 0 : 1 + (padded + 2 * edge - o->n_fft) / hop_of(o);
}

static int check_frames(const struct spectrogram_opts *o, int64_t samples, struct cw_err *err)
{
    if (frames_of(o, samples) < 1)
        return cw_err_set(err, CW_E_INVALID,
                          "a waveform of %lld samples is too short for n_fft %lld",
                          (long long)samples, (long long)o->n_fft);
    return 0;
}

/* Dims of the result: channels if there are any, frequencies, time, 2 if complex. */
static int shape_of(const struct spectrogram_opts *o, int rank, const int64_t *in, int64_t frames,
                    int64_t *ret_dims)
{
    int n = 0;
    if (rank == 2)
        ret_dims[n++] = in[1];
    ret_dims[n++] = o->n_fft / 2 + 1;
    ret_dims[n++] = frames;
    if (o->power == 0)
        ret_dims[n++] = 2;
    return n;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct spectrogram_opts *o = opts;
    struct cw_field field;
    int rc = cw_waveform_infer(opts, in, &field, err);
    if (rc == 0 && in->dims[0] >= 0)
        rc = check_frames(o, in->dims[0], err);
    if (rc < 0)
        return cw_err_wrap(err, "field %s", in->name);
    field.rank = shape_of(o, in->rank, in->dims, in->dims[0] < 0 ? -1 : frames_of(o, in->dims[0]),
                          field.dims);
    *ret_field = field;
    return 0;
}

/* The square of what the window is divided by. */
static double norm_of(const struct spectrogram_opts *o, const float *window)
{
    double sum = 0;
    for (int64_t i = 0; i < o->n_fft; i++)
        sum += (double)window[i] * (double)window[i];
    return o->normalized == NORM_WINDOW         ? sum
           : o->normalized == NORM_FRAME_LENGTH ? (double)o->n_fft
                                                : 1.0;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct spectrogram_opts *o = opts;
    (void)how;
    (void)err;
    struct cw_stft *stft = CW_NEW(struct cw_stft);
    const int64_t length = window_length(o);
    cw_autofree float *window = CW_NEW_ARRAY(float, (size_t)o->n_fft);
    cw_window_make((enum cw_window)o->window, (size_t)length, window + (o->n_fft - length) / 2);
    const double norm = sqrt(norm_of(o, window));
    for (int64_t i = 0; i < o->n_fft; i++)
        window[i] = (float)((double)window[i] / norm);
    cw_stft_init(stft, (size_t)o->n_fft, window);
    *ret_state = stft;
    return 0;
}

static void close_state(void *state)
{
    if (state)
        cw_stft_fini(state);
    cw_mem_free(state);
}

static void *work_new(const void *opts, void *state)
{
    (void)opts;
    return CW_NEW_ARRAY(float, cw_stft_work_floats(state));
}

/* A channel with what is put on both sides of it. */
struct padded {
    float *data;
    int64_t zeros, edge,
        samples; /* on each side: zeros, and before them what `center` puts there */
    size_t bytes;
};

/* The samples that `center` puts before and behind the padded waveform. */
static void fill_edges(const struct padded *padded, enum edge mode)
{
    const int64_t n = padded->samples + 2 * padded->zeros;
    float *const first = padded->data + padded->edge, *const last = first + n - 1;
    for (int64_t i = 1; i <= padded->edge; i++) {
        first[-i] = mode == EDGE_REFLECT ? first[i] : mode == EDGE_REPLICATE ? first[0] : 0.0f;
        last[i] = mode == EDGE_REFLECT ? last[-i] : mode == EDGE_REPLICATE ? last[0] : 0.0f;
    }
}

static void fill(const struct padded *padded, const struct cw_waveform *waveform, int64_t channel,
                 enum edge mode)
{
    const int64_t before = padded->edge + padded->zeros;
    float *const at = padded->data + before;
    memset(padded->data, 0, (size_t)before * sizeof(float));
    cw_waveform_channel(waveform, channel, at);
    memset(at + padded->samples, 0,
           padded->bytes - (size_t)(before + padded->samples) * sizeof(float));
    fill_edges(padded, mode);
}

/* Memory for a channel; the last block of frames may be read whole. */
static int make_padded(const struct cw_op_ctx *ctx, const struct spectrogram_opts *o,
                       int64_t samples, int64_t frames, struct padded *ret_padded,
                       struct cw_err *err)
{
    const int64_t blocks = (frames + CW_STFT_LANES - 1) / CW_STFT_LANES;
    struct padded padded = {
        .zeros = o->pad, .edge = o->center ? o->n_fft / 2 : 0, .samples = samples};
    const int64_t read = (blocks * CW_STFT_LANES - 1) * hop_of(o) + o->n_fft;
    padded.bytes = (size_t)CW_MAX(read, samples + 2 * (padded.zeros + padded.edge)) * sizeof(float);
    padded.data = cw_op_scratch(ctx, padded.bytes, err);
    *ret_padded = padded;
    return padded.data ? 0 : CW_E_NOMEM;
}

static void transform(const struct spectrogram_opts *o, const struct cw_stft *stft, float *work,
                      const float *x, int64_t frames, float *dst)
{
    static const enum cw_stft_form forms[] = {CW_STFT_COMPLEX, CW_STFT_MAGNITUDE, CW_STFT_POWER};
    struct cw_stft_job job = {.stft = stft,
                              .hop = (size_t)hop_of(o),
                              .form = forms[o->power],
                              .row = (size_t)frames,
                              .work = work};
    for (int64_t t = 0; t < frames; t += CW_STFT_LANES) {
        job.x = x + t * hop_of(o);
        job.frames = (size_t)CW_MIN(frames - t, CW_STFT_LANES);
        job.dst = dst + t * (o->power == 0 ? 2 : 1);
        cw_stft_block(&job);
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct spectrogram_opts *o = opts;
    struct cw_waveform waveform;
    struct padded padded = {0};
    int rc = cw_waveform_get(in, &waveform, err);
    if (rc == 0)
        rc = check_frames(o, waveform.frames, err);
    if (rc < 0)
        return rc;
    const int64_t frames = frames_of(o, waveform.frames);
    out->rank = shape_of(o, in->rank, in->dims, frames, out->dims);
    rc = cw_op_output(ctx, out, err);
    if (rc == 0)
        rc = make_padded(ctx, o, waveform.frames, frames, &padded, err);
    if (rc < 0)
        return rc;
    const size_t plane = out->bytes / sizeof(float) / (size_t)waveform.channels;
    for (int64_t c = 0; c < waveform.channels; c++) {
        if (cw_stop_check(ctx->stop, err) < 0)
            return CW_E_CANCELLED;
        fill(&padded, &waveform, c, (enum edge)o->pad_mode);
        transform(o, state, scratch, padded.data, frames, (float *)out->data + (size_t)c * plane);
    }
    return 0;
}

const struct cw_op cw_op_spectrogram = {
    .name = "spectrogram",
    .version = 1,
    .summary = "spectrograms of waveforms",
    .doc = "f32[frames] becomes f32[n_fft / 2 + 1, time], and f32[frames, channels] becomes "
           "f32[channels, "
           "n_fft / 2 + 1, time], as\n"
           "torchaudio's Spectrogram: frames of `n_fft` samples, `hop` apart, times a periodic "
           "window, "
           "and their Fourier transform.\n"
           "`power` 0 keeps complex numbers, as a last dimension of 2. Computed in single "
           "precision; n_fft "
           "has the prime factors 2, 3\n"
           "and 5 only. A waveform that is too short for one frame is an error of the element.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct spectrogram_opts),
    .check = check,
    .accepts = cw_waveform_accepts,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .scratch_new = work_new,
    .scratch_free = cw_mem_free,
    .apply_field = apply_field,
    .makes_nan = true,
    .facts = cw_audio_facts,
};
