/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes PNG files to interleaved samples with libpng. Palettes are expanded, 16-bit samples
 * keep their high byte unless they are asked for, and transparency is dropped. These are the results of Pillow's
 * convert("RGB") and convert("L"). */
#ifndef CW_OPS_KERNELS_PNG_IMAGE_H
#define CW_OPS_KERNELS_PNG_IMAGE_H

#include <stdbool.h>
#include "base/err.h"

struct cw_png; /* one image being read */

bool cw_png_is(const void *bytes, size_t n);
/* What is asked for. channels: 1 or 3, or 0 for as many as the file has, or CW_PNG_INDEX for the numbers
 * of a palette or of greys, one a pixel (UNSUPPORTED if there are none). is_deep: samples of 16 bits; of
 * fewer bits they are spread over the whole range, and a file in colour cannot become grey (UNSUPPORTED). */
#define CW_PNG_INDEX (-1)
struct cw_png_asked {
    int channels;
    bool is_deep;
};
/* Reads the header. The bytes must stay until close. */
int cw_png_open(const void *bytes, size_t n, const struct cw_png_asked *asked,
                struct cw_png **ret_png, struct cw_err *err);
void cw_png_size(const struct cw_png *png, int64_t *ret_h, int64_t *ret_w, int64_t *ret_channels);
/* Decodes to dst, rows without gaps. Returns CORRUPT for damaged and truncated files. */
int cw_png_read(struct cw_png *png, uint8_t *dst, struct cw_err *err);
void cw_png_close(struct cw_png *png);

#endif
