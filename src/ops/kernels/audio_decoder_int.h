/* SPDX-License-Identifier: Apache-2.0 */
/* What audio_file.c asks of the decoders, and what they share (audio_decoder.c). */
#ifndef CW_OPS_KERNELS_AUDIO_DECODER_INT_H
#define CW_OPS_KERNELS_AUDIO_DECODER_INT_H

#include "base/library.h"
#include "ops/kernels/audio_file.h"

/* A file in memory, and the place where the decoder is. */
struct cw_audio_bytes {
    const uint8_t *bytes;
    int64_t n, at;
};
/* Copies what is left, at most n bytes; returns how many. */
int64_t cw_audio_bytes_read(struct cw_audio_bytes *bytes, void *dst, int64_t n);
/* Moves the place as lseek does; returns it, or -1. */
int64_t cw_audio_bytes_seek(struct cw_audio_bytes *bytes, int64_t offset, int whence);

/* A decoder's state for one thread; the functions are those of audio_file.h. */
struct cw_audio_decoder {
    void *(*create)(void);
    void (*destroy)(void *self);
    int (*begin)(void *self, struct cw_audio_bytes *bytes, struct cw_audio_info *ret_info,
                 struct cw_err *err);
    int (*seek)(void *self, int64_t frame, struct cw_err *err);
    int (*read)(void *self, float *dst, int64_t n, int64_t *ret_n, struct cw_err *err);
    void (*end)(void *self);
};
extern const struct cw_audio_decoder cw_audio_sndfile, cw_audio_vorbis, cw_audio_mpg123;

#endif
