/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the samples of an image that need no neighbours: mirroring, and conversion to grey. */
#ifndef CW_OPS_KERNELS_PIXELS_H
#define CW_OPS_KERNELS_PIXELS_H

#include "base/compiler.h"

/* Writes rows of `n` pixels of `pixel_bytes` each in reverse order. dst and src must not
 * overlap. */
void cw_pixels_mirror(void *dst, const void *src, size_t rows, size_t n, size_t pixel_bytes);
void cw_pixels_mirror_plain(void *dst, const void *src, size_t rows, size_t n, size_t pixel_bytes);
/* The kernel mirror3: pixels of 3 bytes. */
void cw_pixels_mirror3_plain(void *dst, const void *src, size_t rows, size_t n);
void cw_pixels_mirror3_avx2(void *dst, const void *src, size_t rows, size_t n);

/* Writes the values of each channel side by side, for pixels of `channels` values of `bytes` (1, 2, 4
 * or 8) each: channel c begins with value c * plane. join does the opposite, with planes of `pixels`. */
void cw_pixels_split(void *dst, const void *src, size_t pixels, size_t channels, size_t bytes,
                     size_t plane);
void cw_pixels_split_plain(void *dst, const void *src, size_t pixels, size_t channels, size_t bytes,
                           size_t plane);
/* The kernels split3_u8 and split3_f32: pixels of three bytes, or of three values of 4 bytes. */
void cw_pixels_split3_u8_plain(void *dst, const void *src, size_t pixels, size_t plane);
void cw_pixels_split3_u8_avx2(void *dst, const void *src, size_t pixels, size_t plane);
void cw_pixels_split3_f32_plain(void *dst, const void *src, size_t pixels, size_t plane);
void cw_pixels_split3_f32_avx2(void *dst, const void *src, size_t pixels, size_t plane);
void cw_pixels_join(void *dst, const void *src, size_t pixels, size_t channels, size_t bytes);

/* Converts RGB to luminance with Pillow's weights. dst and rgb must not overlap. */
void cw_pixels_grey(uint8_t *dst, const uint8_t *rgb, size_t n);
void cw_pixels_grey_plain(uint8_t *dst, const uint8_t *rgb, size_t n);
void cw_pixels_grey_avx2(uint8_t *dst, const uint8_t *rgb, size_t n);

#endif
