/* SPDX-License-Identifier: Apache-2.0 */
/* MP3 files by libmpg123. A thread keeps its handle from file to file. */
#include <mpg123.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/mem.h"
#include "base/thread.h"
#include "ops/kernels/audio_decoder_int.h"

#define LIBRARY "libmpg123.so.0"
/* the decoder in plain C; others are chosen by CPU, and their samples differ */
#define DECODER "generic"

typedef ssize_t read_fn(void *, void *, size_t);
typedef off_t seek_fn(void *, off_t, int);

/* The functions of the library, which are set once, under the lock, and not changed any more. */
static struct cw_mutex lock = CW_MUTEX_INIT;
static struct {
    void *library;
    int (*init)(void);
    mpg123_handle *(*new)(const char *, int *);
    void (*delete)(mpg123_handle *);
    int (*param)(mpg123_handle *, enum mpg123_parms, long, double);
    int (*set_reader)(mpg123_handle *, read_fn *, seek_fn *, void (*)(void *));
    int (*open)(mpg123_handle *, void *);
    int (*close)(mpg123_handle *);
    int (*format)(mpg123_handle *, long *, int *, int *);
    off_t (*length)(mpg123_handle *);
    off_t (*seek)(mpg123_handle *, off_t, int);
    const char *(*message)(mpg123_handle *);
    int (*read)(mpg123_handle *, void *, size_t, size_t *);
} mpg;

struct mp3_state {
    mpg123_handle *handle; /* NULL before the first file */
    bool open;
    size_t frame_bytes;
};

static int load_locked(struct cw_err *err)
{
    const struct {
        const char *name;
        void *function;
    } symbols[] = {{"mpg123_init", &mpg.init},
                   {"mpg123_new", &mpg.new},
                   {"mpg123_delete", &mpg.delete},
                   {"mpg123_param", &mpg.param},
                   {"mpg123_replace_reader_handle", &mpg.set_reader},
                   {"mpg123_open_handle", &mpg.open},
                   {"mpg123_close", &mpg.close},
                   {"mpg123_getformat", &mpg.format},
                   {"mpg123_length", &mpg.length},
                   {"mpg123_seek", &mpg.seek},
                   {"mpg123_strerror", &mpg.message},
                   {"mpg123_read", &mpg.read}};
    int rc = cw_library_load(LIBRARY, &mpg.library, err);
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(symbols); i++)
        rc = cw_library_symbol(mpg.library, symbols[i].name, symbols[i].function, err);
    if (rc == 0 && mpg.init() != MPG123_OK)
        rc = cw_err_set(err, CW_E_UNSUPPORTED, "libmpg123 does not start");
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

static ssize_t on_read(void *arg, void *dst, size_t n)
{
    return (ssize_t)cw_audio_bytes_read(arg, dst, (int64_t)n);
}

static off_t on_seek(void *arg, off_t offset, int whence)
{
    return (off_t)cw_audio_bytes_seek(arg, offset, whence);
}

static void *create(void)
{
    return CW_NEW(struct mp3_state);
}

static void destroy(void *self)
{
    struct mp3_state *state = self;
    if (state->handle)
        mpg.delete(state->handle);
    cw_mem_free(state);
}

static void end(void *self)
{
    struct mp3_state *state = self;
    if (state->open)
        (void)mpg.close(state->handle);
    state->open = false;
}

/* Tags and pictures are not read; nothing is printed. */
#define FLAGS (MPG123_QUIET | MPG123_FORCE_FLOAT | MPG123_SKIP_ID3V2)

static int make_handle(struct mp3_state *state, struct cw_err *err)
{
    int code = MPG123_OK;
    if (state->handle)
        return 0;
    mpg123_handle *handle = mpg.new(DECODER, &code);
    if (handle && mpg.param(handle, MPG123_ADD_FLAGS, FLAGS, 0) == MPG123_OK &&
        mpg.param(handle, MPG123_VERBOSE, 0, 0) == MPG123_OK &&
        mpg.set_reader(handle, on_read, on_seek, NULL) == MPG123_OK) {
        state->handle = handle;
        return 0;
    }
    if (handle)
        mpg.delete(handle);
    return cw_err_set(err, CW_E_UNSUPPORTED, "libmpg123 has no decoder %s", DECODER);
}

static int fail(const struct mp3_state *state, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "libmpg123: %s", mpg.message(state->handle));
}

static int begin(void *self, struct cw_audio_bytes *bytes, struct cw_audio_info *ret_info,
                 struct cw_err *err)
{
    struct mp3_state *state = self;
    long rate = 0;
    int channels = 0, encoding = 0;
    int rc = load(err);
    if (rc == 0)
        rc = make_handle(state, err);
    if (rc < 0)
        return rc;
    end(self);
    if (mpg.open(state->handle, bytes) != MPG123_OK)
        return fail(state, err);
    state->open = true;
    if (mpg.format(state->handle, &rate, &channels, &encoding) != MPG123_OK ||
        encoding != MPG123_ENC_FLOAT_32) {
        rc = fail(state, err);
        end(self);
        return rc;
    }
    const off_t length = mpg.length(state->handle);
    state->frame_bytes = (size_t)channels * sizeof(float);
    *ret_info = (struct cw_audio_info){
        .rate = rate, .channels = channels, .frames = length < 0 ? -1 : (int64_t)length};
    return 0;
}

static int seek(void *self, int64_t frame, struct cw_err *err)
{
    const struct mp3_state *state = self;
    return mpg.seek(state->handle, frame, SEEK_SET) >= 0 ? 0 : fail(state, err);
}

static int read_frames(void *self, float *dst, int64_t n, int64_t *ret_n, struct cw_err *err)
{
    const struct mp3_state *state = self;
    size_t bytes = 0;
    for (;;) {
        size_t got = 0;
        const int code = mpg.read(state->handle, (char *)dst + bytes,
                                  (size_t)n * state->frame_bytes - bytes, &got);
        bytes += got;
        if (code == MPG123_NEW_FORMAT)
            return cw_err_set(err, CW_E_CORRUPT, "the MP3 file changes its rate or its channels");
        if (code != MPG123_OK && code != MPG123_DONE)
            return fail(state, err);
        if (code == MPG123_DONE || got == 0 || bytes == (size_t)n * state->frame_bytes)
            break;
    }
    *ret_n = (int64_t)(bytes / state->frame_bytes);
    return 0;
}

const struct cw_audio_decoder cw_audio_mpg123 = {.create = create,
                                                 .destroy = destroy,
                                                 .begin = begin,
                                                 .seek = seek,
                                                 .read = read_frames,
                                                 .end = end};
