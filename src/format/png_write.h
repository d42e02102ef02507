/* SPDX-License-Identifier: Apache-2.0 */
/* Writes PNG files, for people to look at. */
#ifndef CW_FORMAT_PNG_WRITE_H
#define CW_FORMAT_PNG_WRITE_H

#include "base/err.h"

#define CW_PNG_SIDE_MAX 65535

/* Writes h x w pixels of 1 (grey) or 3 (RGB) bytes, without gaps. Sides are 1 to
 * CW_PNG_SIDE_MAX. */
int cw_png_write(const char *path, const uint8_t *pixels, int64_t h, int64_t w, int channels,
                 struct cw_err *err);

#endif
