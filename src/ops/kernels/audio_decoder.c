/* SPDX-License-Identifier: Apache-2.0 */
/* What all decoders of sound files need: files in memory. */
#include "ops/kernels/audio_decoder_int.h"

#include <stdio.h>
#include <string.h>

int64_t cw_audio_bytes_read(struct cw_audio_bytes *bytes, void *dst, int64_t n)
{
    const int64_t left = bytes->n - bytes->at, count = CW_MIN(CW_MAX(n, 0), left);
    if (count > 0)
        memcpy(dst, bytes->bytes + bytes->at, (size_t)count);
    bytes->at += count;
    return count;
}

int64_t cw_audio_bytes_seek(struct cw_audio_bytes *bytes, int64_t offset, int whence)
{
    const int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? bytes->at : bytes->n;
    if (offset < -base || offset > bytes->n - base)
        return -1;
    bytes->at = base + offset;
    return bytes->at;
}
