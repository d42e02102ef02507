/* SPDX-License-Identifier: Apache-2.0 */
/* Ogg Vorbis files by libvorbisfile: libsndfile loses memory with each damaged one. */
#define OV_EXCLUDE_STATIC_CALLBACKS
#include <vorbis/vorbisfile.h>
#include "base/mem.h"
#include "base/thread.h"
#include "ops/kernels/audio_decoder_int.h"

#define LIBRARY "libvorbisfile.so.3"

/* The functions of the library, which are set once, under the lock, and not changed any more. */
static struct cw_mutex lock = CW_MUTEX_INIT;
static struct {
    void *library;
    int (*open)(void *, OggVorbis_File *, const char *, long, ov_callbacks);
    int (*clear)(OggVorbis_File *);
    vorbis_info *(*info)(OggVorbis_File *, int);
    ogg_int64_t (*total)(OggVorbis_File *, int);
    int (*seek)(OggVorbis_File *, ogg_int64_t);
    long (*read)(OggVorbis_File *, float ***, int, int *);
} ov;

struct ov_state {
    OggVorbis_File file;
    bool open;
    int64_t channels, rate;
};

static int load_locked(struct cw_err *err)
{
    const struct {
        const char *name;
        void *function;
    } symbols[] = {{"ov_open_callbacks", &ov.open}, {"ov_clear", &ov.clear},
                   {"ov_info", &ov.info},           {"ov_pcm_total", &ov.total},
                   {"ov_pcm_seek", &ov.seek},       {"ov_read_float", &ov.read}};
    int rc = cw_library_load(LIBRARY, &ov.library, err);
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(symbols); i++)
        rc = cw_library_symbol(ov.library, symbols[i].name, symbols[i].function, err);
    return rc;
}

static int load(struct cw_err *err)
{
    static bool is_loaded; /* under the lock */
    cw_mutex_lock(&lock);
    const int rc = is_loaded ? 0 : load_locked(err);
    is_loaded = rc == 0;
    cw_mutex_unlock(&lock);
    return rc;
}

static size_t on_read(void *dst, size_t size, size_t n, void *arg)
{
    return size > 0 ? (size_t)cw_audio_bytes_read(arg, dst, (int64_t)(size * n)) / size : 0;
}

static int on_seek(void *arg, ogg_int64_t offset, int whence)
{
    return cw_audio_bytes_seek(arg, offset, whence) < 0 ? -1 : 0;
}

static long on_tell(void *arg)
{
    const struct cw_audio_bytes *bytes = arg;
    return (long)bytes->at;
}

static void *create(void)
{
    return CW_NEW(struct ov_state);
}

static void end(void *self)
{
    struct ov_state *state = self;
    if (state->open)
        (void)ov.clear(&state->file);
    state->open = false;
}

static int fail(long code, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "libvorbisfile: damaged data (%ld)", code);
}

static int begin(void *self, struct cw_audio_bytes *bytes, struct cw_audio_info *ret_info,
                 struct cw_err *err)
{
    struct ov_state *state = self;
    const ov_callbacks callbacks = {
        .read_func = on_read, .seek_func = on_seek, .tell_func = on_tell};
    int rc = load(err);
    if (rc < 0)
        return rc;
    end(self);
    const int code = ov.open(bytes, &state->file, NULL, 0, callbacks);
    if (code < 0)
        return fail(code, err);
    state->open = true;
    const vorbis_info *info = ov.info(&state->file, -1);
    const ogg_int64_t frames = ov.total(&state->file, -1);
    if (!info || frames < 0) {
        end(self);
        return fail(frames < 0 ? (long)frames : 0, err);
    }
    state->channels = info->channels;
    state->rate = info->rate;
    *ret_info = (struct cw_audio_info){
        .rate = info->rate, .channels = info->channels, .frames = frames, .is_exact = true};
    return 0;
}

static int seek(void *self, int64_t frame, struct cw_err *err)
{
    struct ov_state *state = self;
    const int code = ov.seek(&state->file, frame);
    return code == 0 ? 0 : fail(code, err);
}

/* A file may consist of several streams, one after another. */
static int check_stream(struct ov_state *state, int stream, struct cw_err *err)
{
    const vorbis_info *info = ov.info(&state->file, stream);
    if (!info || info->channels != state->channels || info->rate != state->rate)
        return cw_err_set(err, CW_E_CORRUPT, "the Ogg file changes its rate or its channels");
    return 0;
}

#define STEP 4096 /* frames of a call */

static int read_frames(void *self, float *dst, int64_t n, int64_t *ret_n, struct cw_err *err)
{
    struct ov_state *state = self;
    const int64_t channels = state->channels;
    int64_t done = 0;
    while (done < n) {
        float **planes = NULL;
        int stream = 0;
        const long got = ov.read(&state->file, &planes, (int)CW_MIN(n - done, STEP), &stream);
        int rc = got < 0 ? fail(got, err) : 0;
        if (rc == 0 && got > 0)
            rc = check_stream(state, stream, err);
        if (rc < 0 || got == 0) {
            *ret_n = done;
            return rc;
        }
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < got; i++)
                dst[(done + i) * channels + c] = planes[c][i];
        done += got;
    }
    *ret_n = done;
    return 0;
}

const struct cw_audio_decoder cw_audio_vorbis = {.create = create,
                                                 .destroy = cw_mem_free,
                                                 .begin = begin,
                                                 .seek = seek,
                                                 .read = read_frames,
                                                 .end = end};
