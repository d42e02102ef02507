/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which strips and tiles of TIFF files are compressed. */
#ifndef CW_OPS_KERNELS_TIFF_UNPACK_H
#define CW_OPS_KERNELS_TIFF_UNPACK_H

#include <stdbool.h>
#include "base/compiler.h"

/* Numbers of tag 259 that can be read. */
enum cw_tiff_packing {
    CW_TIFF_PLAIN = 1,
    CW_TIFF_LZW = 5,
    CW_TIFF_DEFLATE = 8,
    CW_TIFF_PACKBITS = 32773,
    CW_TIFF_DEFLATE_OLD = 32946
};

/* A packed strip or tile, and room for exactly what it holds. */
struct cw_tiff_piece {
    const uint8_t *src;
    size_t src_n;
    uint8_t *dst;
    size_t dst_n;
};
/* Whether a piece of so many bytes can hold so many, at the best ratio that there is. */
bool cw_tiff_may_hold(enum cw_tiff_packing packing, size_t src_n, size_t dst_n);
/* Unpacks a piece. Returns false if it is damaged, or has too few bytes. */
bool cw_tiff_unpack(enum cw_tiff_packing packing, const struct cw_tiff_piece *piece);

#endif
