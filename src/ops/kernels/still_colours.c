/* SPDX-License-Identifier: Apache-2.0 */
/* Palettes of image files: colours, greys, or numbers. */
#include <string.h>
#include "ops/kernels/pixels.h"
#include "ops/kernels/still.h"

int cw_still_no_index(const struct cw_still *still, struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNSUPPORTED,
                      "a %s image in colour has no palette whose numbers could be taken",
                      still->format->name);
}

int cw_still_colours(const struct cw_still *still, const struct cw_still_palette *palette,
                     const uint8_t *index, size_t n, uint8_t *dst, struct cw_err *err)
{
    uint8_t grey[256];
    for (size_t i = 0; i < n && palette->n < 256; i++)
        if (index[i] >= palette->n)
            return cw_err_set(err, CW_E_CORRUPT, "damaged %s image: colour %d of %d",
                              still->format->name, index[i], palette->n);
    if (still->channels == 1)
        cw_pixels_grey(grey, palette->rgb[0], 256);
    for (size_t i = 0; i < n; i++) {
        if (still->channels == 3)
            memcpy(dst + 3 * i, palette->rgb[index[i]], 3);
        else
            dst[i] = still->is_index ? index[i] : grey[index[i]];
    }
    return 0;
}
