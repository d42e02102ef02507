/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file has. */
#include "ops/kernels/still.h"

#include "base/compiler.h"
#include "ops/kernels/png_image.h"

static bool png_is(const uint8_t *bytes, size_t n)
{
    return cw_png_is(bytes, n);
}

static int png_open(struct cw_still *still, struct cw_err *err)
{
    struct cw_png *png;
    int64_t channels;
    const struct cw_png_asked asked = {.channels = still->is_index ? CW_PNG_INDEX : still->asked,
                                       .is_deep = still->is_deep};
    const int rc = cw_png_open(still->bytes, still->n, &asked, &png, err);
    if (rc < 0)
        return rc;
    still->of = png;
    cw_png_size(png, &still->h, &still->w, &channels);
    still->channels = (int)channels;
    return 0;
}

static int png_read(struct cw_still *still, uint8_t *dst, struct cw_err *err)
{
    return cw_png_read(still->of, dst, err);
}

static void png_close(struct cw_still *still)
{
    cw_png_close(still->of);
}

const struct cw_still_format cw_still_png = {
    .name = "PNG", .is = png_is, .open = png_open, .read = png_read, .close = png_close};

int cw_still_open(struct cw_still *still, struct cw_err *err)
{
    static const struct cw_still_format *const formats[] = {
        &cw_still_png, &cw_still_webp, &cw_still_gif, &cw_still_bmp, &cw_still_tiff};
    for (size_t i = 0; i < CW_ARRAY_LEN(formats); i++)
        if (formats[i]->is(still->bytes, still->n)) {
            if (still->is_deep && formats[i] != &cw_still_png && formats[i] != &cw_still_tiff)
                return cw_err_set(err, CW_E_UNSUPPORTED, "a %s image has no samples of 16 bits",
                                  formats[i]->name);
            still->format = formats[i];
            return formats[i]->open(still, err);
        }
    return 1;
}

void cw_still_close(struct cw_still *still)
{
    if (still->format && still->format->close)
        still->format->close(still);
    *still = (struct cw_still){0};
}
