/* SPDX-License-Identifier: Apache-2.0 */
/* Huffman decoding of baseline JPEG blocks. Bits come from memory that was cleaned of byte
 * stuffing and is followed by CW_JPEG_PAD zeros, so nothing has to be checked inside a block.
 * One thread. */
#ifndef CW_OPS_KERNELS_JPEG_HUFF_H
#define CW_OPS_KERNELS_JPEG_HUFF_H

#include <stdbool.h>
#include "base/compiler.h"

#define CW_JPEG_PAD 4096     /* more than the longest MCU: 10 blocks x 64 x 32 bits */
#define CW_JPEG_FAST_BITS 11 /* codes up to this length are looked up at once */
/* Room of a block in coefficients: 64, and one more that is written to when runs end beyond. */
#define CW_JPEG_BLOCK 96

/* Tables for each value of the next 11 bits. An entry of 0 is a code that is longer, or nothing
 * to go by. A step is the run + 1, or 100 for the end of the block. */
struct cw_jpeg_huff {
    bool is_set;
    uint8_t bits[17], vals[256]; /* what it was built from */
    /* value << 16 | code length << 12 | step << 5 | bits with those of the value; value 0: not
     * all its bits are known */
    uint32_t one[1 << CW_JPEG_FAST_BITS];
    /* Two codes with their values, or one twice over: value << 25 | value << 18 | step << 11 |
     * step << 4 | bits */
    uint32_t two[1 << CW_JPEG_FAST_BITS];
    /* What is passed over with one or two codes: steps << 5 | bits */
    uint16_t pass[1 << CW_JPEG_FAST_BITS];
    uint32_t limit[18]; /* of 16 bits: codes of length i are below it */
    int32_t first[17];  /* index of a code of length i in vals = code + first[i] */
};
struct cw_jpeg_bits {
    const uint8_t *at;
    uint64_t buf; /* the next bits, from the top */
    unsigned n;   /* how many of them are valid */
};

/* From a table of the file; keeps it when it is the same as before. false: codes that make no
 * sense. */
bool cw_jpeg_huff_set(struct cw_jpeg_huff *huff, const uint8_t bits[17], const uint8_t vals[256],
                      bool is_dc);
/* One block: adds the difference to *dc; coefficients in natural order to the zeroed block.
 * Returns 1, 0 when all but the first are 0, or -1 for damage. */
int cw_jpeg_huff_block(struct cw_jpeg_bits *bits, const struct cw_jpeg_huff *dc_huff,
                       const struct cw_jpeg_huff *ac_huff, int32_t *dc,
                       int16_t block[CW_JPEG_BLOCK]);
/* The same for a block that nobody wants to see. false: damage. */
bool cw_jpeg_huff_skip(struct cw_jpeg_bits *bits, const struct cw_jpeg_huff *dc_huff,
                       const struct cw_jpeg_huff *ac_huff, int32_t *dc);

/* Copies a segment up to its marker, without the zeros that are stuffed behind 0xff; adds
 * padding. Returns false when the data end before a marker. dst has room for n + CW_JPEG_PAD
 * bytes. ret_used: up to the marker's 0xff. */
bool cw_jpeg_unstuff(uint8_t *dst, const uint8_t *src, size_t n, size_t *ret_n, size_t *ret_used);

#endif
