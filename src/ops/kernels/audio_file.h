/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes sound files in memory to f32 frames, channels side by side: WAV, FLAC and Ogg Opus
 * by libsndfile, Ogg Vorbis by libvorbisfile, MP3 by libmpg123 with its `generic` decoder, which gives the same samples whatever
 * the CPU can do. The libraries are loaded when the first such file comes, so a program that decodes
 * none does not need them. There is one decoder a thread. */
#ifndef CW_OPS_KERNELS_AUDIO_FILE_H
#define CW_OPS_KERNELS_AUDIO_FILE_H

#include <stdbool.h>
#include "base/err.h"

#define CW_AUDIO_CHANNELS_MAX 256

struct cw_audio_info {
    int64_t rate, channels; /* > 0 */
    int64_t frames;         /* how many there seem to be; -1: not known */
    bool is_exact;          /* there are so many, or the file is damaged */
};

struct cw_audio_file;
struct cw_audio_file *cw_audio_file_new(void) CW_MUST_CHECK;
void cw_audio_file_free(struct cw_audio_file *file);
/* Reads the header of a file. The bytes must stay until end. CORRUPT for what is no such file, or
 * damaged; UNSUPPORTED if the library is not installed. */
int cw_audio_file_begin(struct cw_audio_file *file, const void *bytes, size_t n,
                        struct cw_audio_info *ret_info, struct cw_err *err);
/* Goes to a frame that is not behind the end. */
int cw_audio_file_seek(struct cw_audio_file *file, int64_t frame, struct cw_err *err);
/* Decodes at most n > 0 frames; *ret_n is less only at the end. CORRUPT for damage. */
int cw_audio_file_read(struct cw_audio_file *file, float *dst, int64_t n, int64_t *ret_n,
                       struct cw_err *err);
/* Ends with a file that was begun; may be called at any time. */
void cw_audio_file_end(struct cw_audio_file *file);

#endif
