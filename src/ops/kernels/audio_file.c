/* SPDX-License-Identifier: Apache-2.0 */
/* Tells sound files from one another, and gives them to the decoder that is right. */
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/audio_decoder_int.h"

enum { SNDFILE, VORBIS, MPG123, DECODERS };
static const struct cw_audio_decoder *const decoders[DECODERS] = {
    &cw_audio_sndfile, &cw_audio_vorbis, &cw_audio_mpg123};

struct cw_audio_file {
    struct cw_audio_bytes bytes;
    void *states[DECODERS];
    int open;       /* the decoder that has a file, or -1 */
    int64_t frames; /* as the info said, if it was exact; otherwise -1 */
    int64_t at;     /* the next frame */
};

/* ---- which file it is ---- */

static uint32_t little_endian(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Whether a file begins with a tag (NULL: any four bytes), and has another behind. */
static bool begins(const struct cw_audio_bytes *bytes, const char *tag)
{
    return bytes->n >= 4 && memcmp(bytes->bytes, tag, 4) == 0;
}

static bool is_wav(const struct cw_audio_bytes *bytes)
{
    return bytes->n >= 12 && (begins(bytes, "RIFF") || begins(bytes, "RF64")) &&
           memcmp(bytes->bytes + 8, "WAVE", 4) == 0;
}

/* Whether the first packet of an Ogg file begins with these bytes. The first page has a header of 27
 * bytes, the last of which is the number of lengths that follow. */
static bool packet_begins(const struct cw_audio_bytes *bytes, const char *text)
{
    const int64_t header = 27, n = (int64_t)strlen(text);
    if (!begins(bytes, "OggS") || bytes->n < header)
        return false;
    const int64_t at = header + bytes->bytes[header - 1];
    return at + n <= bytes->n && memcmp(bytes->bytes + at, text, (size_t)n) == 0;
}

static bool is_mp3(const struct cw_audio_bytes *bytes)
{
    if (bytes->n < 4)
        return false;
    const bool tagged = memcmp(bytes->bytes, "ID3", 3) == 0;
    return tagged || (bytes->bytes[0] == 0xff && (bytes->bytes[1] & 0xe0) == 0xe0);
}

/* libsndfile takes what there is of a WAV file that ends early. 2^32 - 1, and what RF64 has instead, is no
 * length: the file was written to a pipe. */
static int check_wav(const struct cw_audio_bytes *bytes, struct cw_err *err)
{
    const int64_t header = 8;
    int64_t at = 12, length = 0;
    for (; at + header <= bytes->n; at += header + length + length % 2) {
        const uint8_t *chunk = bytes->bytes + at;
        length = little_endian(chunk + 4);
        if (memcmp(chunk, "data", 4) != 0)
            continue;
        if (length > bytes->n - at - header && length < INT32_MAX && begins(bytes, "RIFF"))
            return cw_err_set(err, CW_E_CORRUPT,
                              "the WAV file ends early: %lld of %lld bytes of its data are there",
                              (long long)(bytes->n - at - header), (long long)length);
        return 0;
    }
    return cw_err_set(err, CW_E_CORRUPT, "the WAV file has no data");
}

/* Where the first page is damaged libsndfile goes on with the next stream; if that is one of Vorbis, it loses
 * memory. */
static int check_opus(const struct cw_audio_bytes *bytes, struct cw_err *err)
{
    static const char vorbis[] = "\1vorbis";
    if (!memmem(bytes->bytes, (size_t)bytes->n, vorbis, sizeof(vorbis) - 1))
        return 0;
    return cw_err_set(err, CW_E_CORRUPT, "an Ogg file with both Opus and Vorbis in it");
}

static int choose(const struct cw_audio_bytes *bytes, int *ret_decoder, struct cw_err *err)
{
    *ret_decoder = SNDFILE;
    if (is_wav(bytes))
        return check_wav(bytes, err);
    if (begins(bytes, "fLaC"))
        return 0;
    if (packet_begins(bytes, "OpusHead"))
        return check_opus(bytes, err);
    *ret_decoder = VORBIS;
    if (packet_begins(bytes, "\1vorbis"))
        return 0;
    *ret_decoder = MPG123;
    return is_mp3(bytes)
               ? 0
               : cw_err_set(err, CW_E_CORRUPT,
                            "these %lld bytes are no WAV, FLAC, Ogg Vorbis, Ogg Opus or MP3 "
                            "file",
                            (long long)bytes->n);
}

/* ---- a file ---- */

struct cw_audio_file *cw_audio_file_new(void)
{
    struct cw_audio_file *file = CW_NEW(struct cw_audio_file);
    file->open = -1;
    return file;
}

void cw_audio_file_free(struct cw_audio_file *file)
{
    if (!file)
        return;
    cw_audio_file_end(file);
    for (int i = 0; i < DECODERS; i++)
        if (file->states[i])
            decoders[i]->destroy(file->states[i]);
    cw_mem_free(file);
}

static int check_info(const struct cw_audio_info *info, struct cw_err *err)
{
    if (info->rate < 1)
        return cw_err_set(err, CW_E_CORRUPT, "a sample rate of %lld Hz", (long long)info->rate);
    if (info->channels < 1 || info->channels > CW_AUDIO_CHANNELS_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "%lld channels: 1 to %d are possible",
                          (long long)info->channels, CW_AUDIO_CHANNELS_MAX);
    return 0;
}

int cw_audio_file_begin(struct cw_audio_file *file, const void *bytes, size_t n,
                        struct cw_audio_info *ret_info, struct cw_err *err)
{
    int decoder;
    cw_audio_file_end(file);
    file->bytes = (struct cw_audio_bytes){.bytes = bytes, .n = (int64_t)n};
    int rc = choose(&file->bytes, &decoder, err);
    if (rc < 0)
        return rc;
    if (!file->states[decoder])
        file->states[decoder] = decoders[decoder]->create();
    rc = decoders[decoder]->begin(file->states[decoder], &file->bytes, ret_info, err);
    if (rc < 0)
        return rc;
    file->open = decoder;
    file->at = 0;
    file->frames = ret_info->is_exact ? ret_info->frames : -1;
    return check_info(ret_info, err);
}

int cw_audio_file_seek(struct cw_audio_file *file, int64_t frame, struct cw_err *err)
{
    file->at = frame;
    return decoders[file->open]->seek(file->states[file->open], frame, err);
}

int cw_audio_file_read(struct cw_audio_file *file, float *dst, int64_t n, int64_t *ret_n,
                       struct cw_err *err)
{
    int64_t got = 0;
    const int rc = decoders[file->open]->read(file->states[file->open], dst, n, &got, err);
    if (rc < 0)
        return rc;
    file->at += got;
    if (got < n && file->frames >= 0 && file->at < file->frames)
        return cw_err_set(err, CW_E_CORRUPT, "it ends after %lld of %lld frames",
                          (long long)file->at, (long long)file->frames);
    *ret_n = got;
    return 0;
}

void cw_audio_file_end(struct cw_audio_file *file)
{
    if (file->open >= 0)
        decoders[file->open]->end(file->states[file->open]);
    file->open = -1;
}
