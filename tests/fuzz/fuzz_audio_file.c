/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a sound file: they are refused, or give the same frames whenever they are decoded, also
 * after the decoder went to a later frame. */
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/audio_file.h"

#define SAMPLES_MAX (1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static float first[SAMPLES_MAX], second[SAMPLES_MAX];

static int decode(struct cw_audio_file *file, const uint8_t *data, size_t n, int64_t offset,
                  float *dst, int64_t *ret_samples)
{
    struct cw_audio_info info;
    struct cw_err err = {0};
    int64_t got = 0;
    int rc = cw_audio_file_begin(file, data, n, &info, &err);
    if (rc == 0 && offset > 0)
        rc = cw_audio_file_seek(file, offset, &err);
    if (rc == 0)
        rc = cw_audio_file_read(file, dst, SAMPLES_MAX / info.channels, &got, &err);
    cw_audio_file_end(file);
    if (rc < 0 && (rc != CW_E_CORRUPT || !*err.msg))
        abort();
    *ret_samples = rc < 0 ? 0 : got * info.channels;
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct cw_audio_file *kept;
    struct cw_audio_file *fresh = cw_audio_file_new();
    int64_t a, b;
    if (!kept)
        kept = cw_audio_file_new();
    (void)decode(kept, data, n, 7, second, &b);
    const int rc = decode(fresh, data, n, 0, first, &a);
    if (decode(kept, data, n, 0, second, &b) != rc || a != b ||
        memcmp(first, second, (size_t)a * sizeof(*first)) != 0)
        abort();
    cw_audio_file_free(fresh);
    return 0;
}
