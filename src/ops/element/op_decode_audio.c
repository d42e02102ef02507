/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `decode_audio`: sound files become waveforms. */
#include "ops/element/audio_view.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/audio_file.h"
#include "ops/kernels/num.h"

struct decode_audio_opts {
    char *field, *out, *rate_field;
    int64_t channels, frames, offset, sample_rate;
};

#define OFFSET(member) offsetof(struct decode_audio_opts, member)
static const struct cw_opt options[] = {
    {.name = "channels",
     .help = "files with another number of channels are refused; 0: any number",
     .type = CW_OPT_I64,
     .offset = OFFSET(channels),
     .def = "0",
     .min = 0,
     .max = CW_AUDIO_CHANNELS_MAX},
    {.name = "field",
     .help = "the str field with the file's bytes, which the waveform replaces",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"bytes\""},
    {.name = "frames",
     .help = "decode at most so many frames; 0: up to the end",
     .type = CW_OPT_I64,
     .offset = OFFSET(frames),
     .def = "0",
     .min = 0,
     .max = 0x1p40},
    {.name = "offset",
     .help = "begin at this frame",
     .type = CW_OPT_I64,
     .offset = OFFSET(offset),
     .def = "0",
     .min = 0,
     .max = 0x1p40},
    {.name = "out",
     .help = "name of the waveform",
     .type = CW_OPT_STR,
     .offset = OFFSET(out),
     .def = "\"audio\""},
    {.name = "rate_field",
     .help = "name of a new i32 field with the frames a second; \"\": none",
     .type = CW_OPT_STR,
     .offset = OFFSET(rate_field),
     .def = "\"\""},
    {.name = "sample_rate",
     .help = "files with other numbers of frames a second are refused; 0: any",
     .type = CW_OPT_I64,
     .offset = OFFSET(sample_rate),
     .def = "0",
     .min = 0,
     .max = INT32_MAX},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct decode_audio_opts *o = opts;
    const int64_t dims[2] = {-1, o->channels > 0 ? o->channels : -1};
    CW_SPEC_AUTO spec = {0};
    int rc = 0;
    (void)in_n;
    const int at = cw_spec_find(in, o->field);
    if (at < 0 || in->fields[at].dtype != CW_DTYPE_STR || in->fields[at].rank != 0)
        return cw_err_set(err, CW_E_INVALID, "option field: there is no str field \"%s\"",
                          o->field);
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        const struct cw_field *f = &in->fields[i];
        rc = i == (size_t)at ? cw_spec_add(&spec, o->out, CW_DTYPE_F32, 2, dims, err)
                             : cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
    }
    if (rc == 0 && *o->rate_field)
        rc = cw_spec_add(&spec, o->rate_field, CW_DTYPE_I32, 0, NULL, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    (void)state;
    return cw_audio_file_new();
}

static void scratch_free(void *scratch)
{
    cw_audio_file_free(scratch);
}

static int check_info(const struct decode_audio_opts *o, const struct cw_audio_info *info,
                      struct cw_err *err)
{
    if (o->channels > 0 && info->channels != o->channels)
        return cw_err_set(err, CW_E_INVALID,
                          "the file has %lld channels, and option channels is %lld",
                          (long long)info->channels, (long long)o->channels);
    if (o->sample_rate > 0 && info->rate != o->sample_rate)
        return cw_err_set(err, CW_E_INVALID,
                          "the file has %lld frames a second, and option sample_rate is %lld",
                          (long long)info->rate, (long long)o->sample_rate);
    return 0;
}

/* The frames that are decoded, in memory that grows. */
struct decoded {
    float *data;
    int64_t frames, capacity, channels;
};
#define SAMPLES_MAX ((int64_t)1 << 28)
/* How many samples a byte of a file is trusted to have before they are seen, and what is taken at
 * least. */
#define SAMPLES_A_BYTE 16
#define SAMPLES_AT_FIRST 65536

static int grow(const struct cw_op_ctx *ctx, struct decoded *decoded, int64_t frames,
                struct cw_err *err)
{
    const int64_t most = SAMPLES_MAX / decoded->channels;
    if (decoded->capacity >= most)
        return cw_err_set(err, CW_E_LIMIT, "it has more than %lld samples", (long long)SAMPLES_MAX);
    const int64_t capacity = CW_MIN(frames, most);
    const size_t frame_bytes = (size_t)decoded->channels * sizeof(float);
    float *data = cw_op_scratch(ctx, (size_t)capacity * frame_bytes, err);
    if (!data)
        return CW_E_NOMEM;
    if (decoded->frames > 0)
        memcpy(data, decoded->data, (size_t)decoded->frames * frame_bytes);
    decoded->data = data;
    decoded->capacity = capacity;
    return 0;
}

/* How many frames there is room for at first: what the header says, if it can be true, and one more, so
 * that the end is seen. */
static int64_t first_guess(const struct decode_audio_opts *o, const struct cw_audio_info *info,
                           size_t bytes)
{
    const int64_t trusted =
        CW_MAX((int64_t)bytes * SAMPLES_A_BYTE, SAMPLES_AT_FIRST) / info->channels;
    int64_t frames = info->frames < 0 ? trusted : CW_MIN(info->frames - o->offset, trusted);
    if (o->frames > 0)
        frames = CW_MIN(frames, o->frames);
    return CW_MAX(frames, 0) + 1;
}

static int decode(const struct cw_op_ctx *ctx, const struct decode_audio_opts *o,
                  struct cw_audio_file *file, struct decoded *decoded, struct cw_err *err)
{
    const int64_t most = o->frames > 0 ? o->frames : INT64_MAX;
    for (;;) {
        const int64_t room = CW_MIN(decoded->capacity, most) - decoded->frames;
        int64_t got = 0;
        int rc = cw_stop_check(ctx->stop, err);
        if (rc == 0 && room > 0)
            rc = cw_audio_file_read(file, decoded->data + decoded->frames * decoded->channels, room,
                                    &got, err);
        if (rc < 0)
            return rc;
        decoded->frames += got;
        if (got < room || decoded->frames == most)
            return 0;
        rc = grow(ctx, decoded, 2 * decoded->capacity, err);
        if (rc < 0)
            return rc;
    }
}

static int check_samples(const struct decode_audio_opts *o, const struct decoded *decoded,
                         struct cw_err *err)
{
    const int64_t n = decoded->frames * decoded->channels;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(decoded->data[i]))
            return cw_err_set(err, CW_E_CORRUPT, "frame %lld is no number",
                              (long long)(o->offset + i / decoded->channels));
    return 0;
}

static int seek(const struct decode_audio_opts *o, struct cw_audio_file *file,
                const struct cw_audio_info *info, struct cw_err *err)
{
    if (o->offset == 0)
        return 0;
    if (info->is_exact && o->offset > info->frames)
        return cw_err_set(err, CW_E_INVALID, "it has %lld frames, and option offset is %lld",
                          (long long)info->frames, (long long)o->offset);
    return cw_audio_file_seek(file, o->offset, err);
}

static int decode_file(const struct cw_op_ctx *ctx, const struct decode_audio_opts *o,
                       struct cw_audio_file *file, const struct cw_view *in,
                       struct cw_audio_info *ret_info, struct cw_view *ret_view, struct cw_err *err)
{
    struct cw_audio_info info;
    int rc = cw_audio_file_begin(file, in->data, in->bytes, &info, err);
    if (rc == 0)
        rc = check_info(o, &info, err);
    if (rc == 0)
        rc = seek(o, file, &info, err);
    struct decoded decoded = {.channels = info.channels};
    if (rc == 0)
        rc = grow(ctx, &decoded, first_guess(o, &info, in->bytes), err);
    if (rc == 0)
        rc = decode(ctx, o, file, &decoded, err);
    if (rc == 0)
        rc = check_samples(o, &decoded, err);
    if (rc < 0)
        return rc;
    *ret_info = info;
    *ret_view = (struct cw_view){.data = decoded.data,
                                 .dtype = CW_DTYPE_F32,
                                 .rank = 2,
                                 .dims = {decoded.frames, decoded.channels}};
    ret_view->bytes = (size_t)(decoded.frames * decoded.channels) * sizeof(float);
    return 0;
}

static int add_rate(const struct cw_op_ctx *ctx, int64_t rate, struct cw_element *element,
                    struct cw_err *err)
{
    struct cw_view view = {.bytes = sizeof(int32_t), .dtype = CW_DTYPE_I32};
    view.data = cw_op_scratch(ctx, view.bytes, err);
    if (!view.data)
        return CW_E_NOMEM;
    cw_num_put_i64(CW_DTYPE_I32, view.data, 0, rate);
    element->fields[element->n++] = view;
    return 0;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct decode_audio_opts *o = opts;
    struct cw_view *view = &element->fields[cw_spec_find(ctx->in, o->field)], waveform;
    struct cw_audio_info info;
    (void)state;
    int rc = decode_file(ctx, o, scratch, view, &info, &waveform, err);
    cw_audio_file_end(scratch); /* it holds the element's bytes */
    if (rc == 0 && *o->rate_field)
        rc = add_rate(ctx, info.rate, element, err);
    if (rc == 0)
        *view = waveform;
    return rc;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct decode_audio_opts *o = opts;
    (void)fields;
    (void)fields_n;
    const size_t at = (size_t)cw_spec_find(in, o->field);
    cw_facts_of_fields(CW_EFFECT_OTHER, &at, 1, ret_facts);
    if (*o->rate_field)
        cw_field_set_add(&ret_facts->writes, in->n);
    ret_facts->names_field = true;
    ret_facts->refuses = ret_facts->refuses_values = true;
}

const struct cw_op cw_op_decode_audio = {
    .name = "decode_audio",
    .version = 1,
    .summary = "sound files become waveforms",
    .doc =
        "The bytes of a WAV, FLAC, Ogg Vorbis, Ogg Opus or MP3 file become f32[frames, channels], "
        "from -1 to 1; `rate_field` adds the\n"
        "frames a second. `offset` and `frames` decode a stretch of the file only. WAV, FLAC and "
        "Opus "
        "are read by libsndfile, Vorbis by\n"
        "libvorbisfile, MP3 by libmpg123 with its decoder `generic`, which does not depend on the "
        "CPU; a "
        "worker that decodes such files\n"
        "needs these libraries.\n"
        "A damaged file, one with samples that are no numbers, and a WAV or FLAC file that ends "
        "early "
        "are errors of the element; of an\n"
        "Ogg or MP3 file that ends early there is what was whole.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct decode_audio_opts),
    .infer = infer,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply = apply,
    .facts = facts,
};
