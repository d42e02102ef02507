/* SPDX-License-Identifier: Apache-2.0 */
/* WAV, FLAC and Ogg Opus files by libsndfile. */
#include <sndfile.h>
#include "base/mem.h"
#include "base/thread.h"
#include "ops/kernels/audio_decoder_int.h"

#define LIBRARY "libsndfile.so.1"

/* The functions of the library, which are set once, under the lock, and not changed any more. */
static struct cw_mutex lock = CW_MUTEX_INIT;
static struct {
    void *library;
    SNDFILE *(*open)(SF_VIRTUAL_IO *, int, SF_INFO *, void *);
    int (*close)(SNDFILE *);
    int (*error)(SNDFILE *);
    const char *(*error_number)(int);
    sf_count_t (*seek)(SNDFILE *, sf_count_t, int);
    sf_count_t (*read)(SNDFILE *, float *, sf_count_t);
} sf;

struct sf_state {
    SNDFILE *file;
    struct cw_audio_bytes *bytes;
};

static int load_locked(struct cw_err *err)
{
    int rc = cw_library_load(LIBRARY, &sf.library, err);
    if (rc == 0)
        rc = cw_library_symbol(sf.library, "sf_open_virtual", &sf.open, err);
    if (rc == 0)
        rc = cw_library_symbol(sf.library, "sf_close", &sf.close, err);
    if (rc == 0)
        rc = cw_library_symbol(sf.library, "sf_error", &sf.error, err);
    if (rc == 0)
        rc = cw_library_symbol(sf.library, "sf_error_number", &sf.error_number, err);
    if (rc == 0)
        rc = cw_library_symbol(sf.library, "sf_seek", &sf.seek, err);
    return rc < 0 ? rc : cw_library_symbol(sf.library, "sf_readf_float", &sf.read, err);
}

static int load(struct cw_err *err)
{
    cw_mutex_lock(&lock);
    const int rc = sf.read ? 0 : load_locked(err);
    cw_mutex_unlock(&lock);
    return rc;
}

static sf_count_t on_length(void *arg)
{
    const struct cw_audio_bytes *bytes = arg;
    return bytes->n;
}

static sf_count_t on_seek(sf_count_t offset, int whence, void *arg)
{
    return cw_audio_bytes_seek(arg, offset, whence);
}

static sf_count_t on_read(void *dst, sf_count_t n, void *arg)
{
    return cw_audio_bytes_read(arg, dst, n);
}

static sf_count_t on_tell(void *arg)
{
    const struct cw_audio_bytes *bytes = arg;
    return bytes->at;
}

static void *create(void)
{
    return CW_NEW(struct sf_state);
}

static void end(void *self)
{
    struct sf_state *state = self;
    if (state->file)
        (void)sf.close(state->file);
    state->file = NULL;
}

static int begin(void *self, struct cw_audio_bytes *bytes, struct cw_audio_info *ret_info,
                 struct cw_err *err)
{
    struct sf_state *state = self;
    SF_VIRTUAL_IO io = {
        .get_filelen = on_length, .seek = on_seek, .read = on_read, .tell = on_tell};
    SF_INFO info = {0};
    const int rc = load(err);
    if (rc < 0)
        return rc;
    end(self);
    state->bytes = bytes;
    state->file = sf.open(&io, SFM_READ, &info, bytes);
    if (!state->file)
        return cw_err_set(err, CW_E_CORRUPT,
                          "libsndfile cannot read it: damaged, or of a kind that "
                          "it does not know");
    *ret_info = (struct cw_audio_info){.rate = info.samplerate,
                                       .channels = info.channels,
                                       .frames = info.frames == SF_COUNT_MAX ? -1 : info.frames,
                                       .is_exact = info.frames != SF_COUNT_MAX};
    return 0;
}

static int fail(const struct sf_state *state, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "libsndfile: %s", sf.error_number(sf.error(state->file)));
}

static int seek(void *self, int64_t frame, struct cw_err *err)
{
    const struct sf_state *state = self;
    return sf.seek(state->file, frame, SEEK_SET) == frame ? 0 : fail(state, err);
}

static int read_frames(void *self, float *dst, int64_t n, int64_t *ret_n, struct cw_err *err)
{
    const struct sf_state *state = self;
    *ret_n = sf.read(state->file, dst, n);
    return sf.error(state->file) == SF_ERR_NO_ERROR ? 0 : fail(state, err);
}

const struct cw_audio_decoder cw_audio_sndfile = {.create = create,
                                                  .destroy = cw_mem_free,
                                                  .begin = begin,
                                                  .seek = seek,
                                                  .read = read_frames,
                                                  .end = end};
