/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder for the JPEG files that nearly all photographs are: baseline, Huffman, one scan,
 * 4:4:4, 4:2:2, 4:2:0 or grey, on a CPU with AVX2. It gives libjpeg-turbo's bits for a part of
 * an image in half of its time: it parses what lies before the part, transforms only the part,
 * and stops behind it. Everything else, and everything odd, it leaves to libjpeg (jpeg.c). */
#ifndef CW_OPS_KERNELS_JPEG_FAST_H
#define CW_OPS_KERNELS_JPEG_FAST_H

#include <stdbool.h>
#include <stdio.h>
#include <jpeglib.h>
#include "ops/op.h"

struct cw_jpeg_fast;
struct cw_jpeg_fast *cw_jpeg_fast_new(void) CW_MUST_CHECK;
void cw_jpeg_fast_free(struct cw_jpeg_fast *fast);
/* After jpeg_read_header: whether decode may be tried for this many channels. */
bool cw_jpeg_fast_can(const struct jpeg_decompress_struct *header, int channels);
/* Decodes a part to dst (rows without gaps). The entropy-coded data are what the source of
 * `header` is at; nothing of it is changed. `rows`: all data of the image's upper rows of
 * pixels, so many of them (whole rows of MCUs, at least those that the part needs), are looked
 * at. false: there is something odd in these data, or no memory; libjpeg shall do it (dst may
 * have been written to). */
bool cw_jpeg_fast_decode(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *header,
                         int channels, const struct cw_rect *part, int64_t rows, uint8_t *dst);

#endif
