/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a PNG, WebP, GIF, BMP or TIFF file, and as a file with EXIF data. The first byte says what is
 * asked for. A file that can be read gives the same samples twice. */
#include <string.h>

#include "base/mem.h"
#include "ops/kernels/exif.h"
#include "ops/kernels/still.h"

#define PIXELS_MAX (512 * 512)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Returns the samples, or NULL. */
static uint8_t *decode(const uint8_t *data, size_t n, int how, size_t *ret_n)
{
    struct cw_still still = {.bytes = data,
                             .n = n,
                             .is_index = (how & 4) != 0,
                             .is_deep = (how & 12) == 8,
                             .asked = (how & 3) == 2 ? 3 : how & 3};
    struct cw_err err = {0};
    uint8_t *samples = NULL;
    int rc = cw_still_open(&still, &err);
    CW_ASSERT(rc >= 0 || err.msg[0]);
    if (rc == 0 && still.h * still.w <= PIXELS_MAX) {
        CW_ASSERT(still.h > 0 && still.w > 0 && (still.channels == 1 || still.channels == 3));
        *ret_n = (size_t)(still.h * still.w * still.channels) * (still.is_deep ? 2 : 1);
        samples = cw_mem_new(*ret_n);
        rc = still.format->read(&still, samples, &err);
        CW_ASSERT(rc == 0 || (rc < 0 && err.msg[0]));
        if (rc < 0) {
            cw_mem_free(samples);
            samples = NULL;
        }
    }
    cw_still_close(&still);
    return samples;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t a_n = 0, b_n = 0;
    if (n < 1)
        return 0;
    const int orientation = cw_exif_orientation(data + 1, n - 1);
    CW_ASSERT(orientation >= 1 && orientation <= 8);
    uint8_t *a = decode(data + 1, n - 1, data[0] & 15, &a_n);
    uint8_t *b = decode(data + 1, n - 1, data[0] & 15, &b_n);
    CW_ASSERT((a == NULL) == (b == NULL));
    CW_ASSERT(!a || (a_n == b_n && memcmp(a, b, a_n) == 0));
    cw_mem_free(a);
    cw_mem_free(b);
    return 0;
}
