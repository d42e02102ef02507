/* SPDX-License-Identifier: Apache-2.0 */
/* WebP files, lossy and lossless, by libwebp, whose results are the same on every CPU. */
#include <string.h>
#include <webp/decode.h>
#include "base/mem.h"
#include "ops/kernels/pixels.h"
#include "ops/kernels/still.h"

static bool is(const uint8_t *bytes, size_t n)
{
    return n >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
}

static int open_file(struct cw_still *still, struct cw_err *err)
{
    WebPBitstreamFeatures features;
    const VP8StatusCode code = WebPGetFeatures(still->bytes, still->n, &features);
    if (code != VP8_STATUS_OK)
        return cw_err_set(err, CW_E_CORRUPT, "damaged WebP image: %s",
                          code == VP8_STATUS_NOT_ENOUGH_DATA ? "the file ends too early"
                                                             : "its header");
    if (features.has_animation)
        return cw_err_set(err, CW_E_UNSUPPORTED, "a WebP file with several frames");
    if (still->is_index)
        return cw_still_no_index(still, err);
    still->h = features.height;
    still->w = features.width;
    still->channels = still->asked == 1 ? 1 : 3;
    return 0;
}

static int read_file(struct cw_still *still, uint8_t *dst, struct cw_err *err)
{
    const size_t pixels = (size_t)still->h * (size_t)still->w;
    cw_autofree uint8_t *wide = still->channels == 1 ? cw_mem_try(3 * pixels) : NULL;
    if (still->channels == 1 && !wide)
        return cw_err_set(err, CW_E_NOMEM, "no memory to decode a WebP image");
    uint8_t *to = wide ? wide : dst;
    if (!WebPDecodeRGBInto(still->bytes, still->n, to, 3 * pixels, (int)(3 * still->w)))
        return cw_err_set(err, CW_E_CORRUPT, "damaged WebP image");
    if (wide)
        cw_pixels_grey(dst, wide, pixels);
    return 0;
}

const struct cw_still_format cw_still_webp = {
    .name = "WebP", .is = is, .open = open_file, .read = read_file};
