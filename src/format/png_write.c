/* SPDX-License-Identifier: Apache-2.0 */
/* Writes PNG files with libpng. */
#include "format/png_write.h"

#include <png.h>
#include <string.h>

int cw_png_write(const char *path, const uint8_t *pixels, int64_t h, int64_t w, int channels,
                 struct cw_err *err)
{
    if (h < 1 || w < 1 || h > CW_PNG_SIDE_MAX || w > CW_PNG_SIDE_MAX ||
        (channels != 1 && channels != 3))
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "%s: %lld x %lld pixels of %d channels cannot be a PNG file", path,
                          (long long)h, (long long)w, channels);
    png_image image;
    memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)w;
    image.height = (png_uint_32)h;
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    int ok = png_image_write_to_file(&image, path, 0, pixels, 0, NULL);
    png_image_free(&image);
    return ok ? 0 : cw_err_set(err, CW_E_IO, "%s: %s", path, image.message);
}
