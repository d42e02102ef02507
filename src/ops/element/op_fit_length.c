/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `fit_length`: waveforms of one length, cut or filled up. */
#include "ops/element/audio_view.h"

#include <string.h>

enum crop { CROP_START, CROP_CENTER, CROP_RANDOM };
static const char *const crop_names[] = {"start", "center", "random", NULL};
enum pad { PAD_END, PAD_CENTER, PAD_START };
static const char *const pad_names[] = {"end", "center", "start", NULL};
enum fill { FILL_CONSTANT, FILL_REPEAT };
static const char *const fill_names[] = {"constant", "repeat", NULL};

struct fit_length_opts {
    int64_t length;
    double value;
    int crop, fill, pad;
};
#define START_DRAW 0

#define OFFSET(member) offsetof(struct fit_length_opts, member)
static const struct cw_opt options[] = {
    {.name = "crop",
     .help = "which frames of a longer waveform are kept",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(crop),
     .def = "\"center\"",
     .names = crop_names},
    {.name = "fill",
     .help = "what a shorter one is filled up with: value, or the waveform again and again",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(fill),
     .def = "\"constant\"",
     .names = fill_names},
    {.name = "length",
     .help = "frames of the result",
     .type = CW_OPT_I64,
     .offset = OFFSET(length),
     .flags = CW_OPT_REQUIRED,
     .min = 1,
     .max = 1 << 30},
    {.name = "pad",
     .help = "where it is filled up; center: on both sides",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(pad),
     .def = "\"end\"",
     .names = pad_names},
    {.name = "value",
     .help = "what constant puts there",
     .type = CW_OPT_F64,
     .offset = OFFSET(value),
     .def = "0.0"},
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct fit_length_opts *o = opts;
    const int rc = cw_waveform_infer(opts, in, ret_field, err);
    if (rc == 0)
        ret_field->dims[0] = o->length;
    return rc;
}

/* The first frame of a longer waveform that is kept. */
static int64_t crop_start(const struct cw_op_ctx *ctx, const struct fit_length_opts *o,
                          int64_t frames)
{
    const int64_t spare = frames - o->length;
    if (o->crop == CROP_RANDOM)
        return (int64_t)cw_rng_below(&ctx->rng, START_DRAW, (uint64_t)spare + 1);
    return o->crop == CROP_CENTER ? spare / 2 : 0;
}

/* How many frames stand before a shorter waveform. */
static int64_t pad_before(const struct fit_length_opts *o, int64_t frames)
{
    const int64_t missing = o->length - frames;
    return o->pad == PAD_START ? missing : o->pad == PAD_CENTER ? missing / 2 : 0;
}

/* Fills frames [from, to), where the waveform begins at frame `start`. */
static void fill(const struct fit_length_opts *o, const struct cw_waveform *waveform, float *dst,
                 int64_t start, int64_t from, int64_t to)
{
    const int64_t channels = waveform->channels, frames = waveform->frames;
    for (int64_t i = from; i < to; i++) {
        const int64_t place = ((i - start) % frames + frames) % frames;
        for (int64_t c = 0; c < channels; c++)
            dst[i * channels + c] =
                o->fill == FILL_REPEAT ? waveform->data[place * channels + c] : (float)o->value;
    }
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct fit_length_opts *o = opts;
    struct cw_waveform waveform;
    (void)state;
    (void)scratch;
    int rc = cw_waveform_get(in, &waveform, err);
    if (rc == 0 && waveform.frames == 0)
        rc = cw_err_set(err, CW_E_INVALID, "a waveform of 0 frames");
    if (rc == 0 && waveform.frames == o->length)
        return 0;
    if (rc == 0)
        rc = cw_waveform_output(ctx, out, o->length, err);
    if (rc < 0)
        return rc;
    float *dst = out->data;
    const size_t frame_bytes = (size_t)waveform.channels * sizeof(float);
    if (waveform.frames > o->length) {
        const int64_t start = crop_start(ctx, o, waveform.frames);
        memcpy(dst, waveform.data + start * waveform.channels, (size_t)o->length * frame_bytes);
        return 0;
    }
    const int64_t before = pad_before(o, waveform.frames);
    fill(o, &waveform, dst, before, 0, before);
    memcpy(dst + before * waveform.channels, waveform.data, (size_t)waveform.frames * frame_bytes);
    fill(o, &waveform, dst, before, before + waveform.frames, o->length);
    return 0;
}

static bool draws(const void *opts)
{
    const struct fit_length_opts *o = opts;
    return o->crop == CROP_RANDOM;
}

const struct cw_op cw_op_fit_length = {
    .name = "fit_length",
    .version = 1,
    .summary = "waveforms of one length",
    .doc =
        "A waveform gets `length` frames: of a longer one the first, the middle or a random "
        "stretch is "
        "kept (`crop`), a shorter one is\n"
        "filled up (`pad`, `fill`, `value`). An odd frame of the middle is cut or put behind. One "
        "without frames is an error of the\n"
        "element. Draw 0: the first frame of a random stretch. It has no `p`: all waveforms come "
        "out of one length.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct fit_length_opts),
    .accepts = cw_waveform_accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = cw_audio_facts,
    .draws = draws,
};
