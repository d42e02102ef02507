/* SPDX-License-Identifier: Apache-2.0 */
/* Which way an image is turned, as the EXIF data of JPEG, PNG and WebP files say. */
#ifndef CW_OPS_KERNELS_EXIF_H
#define CW_OPS_KERNELS_EXIF_H

#include "base/compiler.h"

/* Returns the orientation of a file, 1 to 8; 1, as it is, if the file says nothing or its EXIF data are
 * damaged. */
int cw_exif_orientation(const uint8_t *bytes, size_t n);

/* Whether an image so turned has its rows where the file has columns. */
static inline int cw_exif_swaps(int orientation)
{
    return orientation >= 5;
}
/* A rectangle of the upright image becomes that of the file's, which is h x w; and the other way round. */
struct cw_exif_rect {
    int64_t y, x, h, w;
};
struct cw_exif_rect cw_exif_to_file(int orientation, struct cw_exif_rect upright, int64_t h,
                                    int64_t w);
struct cw_exif_rect cw_exif_from_file(int orientation, struct cw_exif_rect in_file, int64_t h,
                                      int64_t w);
/* Turns an image of h x w pixels upright. src and dst do not overlap. */
void cw_exif_turn(int orientation, const uint8_t *src, int64_t h, int64_t w, size_t pixel_bytes,
                  uint8_t *dst);

#endif
