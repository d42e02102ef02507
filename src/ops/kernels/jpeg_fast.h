/* SPDX-License-Identifier: Apache-2.0 */
/* A fast decoder for the kind of JPEG file that nearly all photographs are: baseline, Huffman, one
 * scan, 4:4:4, 4:2:2, 4:2:0 or grey, on a CPU with AVX2. It gives the bits of libjpeg-turbo for a
 * part of an image in half of its time: it parses what lies before the part, transforms only the
 * part, and stops behind it. Every other kind of file, and everything unusual, is left to libjpeg
 * (jpeg.c). */
#ifndef CW_OPS_KERNELS_JPEG_FAST_H
#define CW_OPS_KERNELS_JPEG_FAST_H

#include <stdbool.h>
#include <stdio.h>
#include <jpeglib.h>
#include "ops/op.h"

struct cw_jpeg_fast;
struct cw_jpeg_fast *cw_jpeg_fast_new(void) CW_MUST_CHECK;
void cw_jpeg_fast_free(struct cw_jpeg_fast *fast);
/* Whether decoding may be tried for so many channels; called after jpeg_read_header. */
bool cw_jpeg_fast_can(const struct jpeg_decompress_struct *header, int channels);
/* Decodes a part to dst (rows without gaps). The entropy-coded data are those at which the source
 * of `header` stands; nothing of `header` is changed. `rows`: all data of so many of the upper rows
 * of pixels are checked (whole rows of MCUs, at least those that the part needs). Returns false if
 * something in these data is unusual, or there is no memory; then libjpeg has to decode (dst may
 * have been written to). If header->scale_denom is 2, 4 or 8, all of the smaller image is decoded. */
bool cw_jpeg_fast_decode(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *header,
                         int channels, const struct cw_rect *part, int64_t rows, uint8_t *dst);

#endif
