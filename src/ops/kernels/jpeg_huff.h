/* SPDX-License-Identifier: Apache-2.0 */
/* Huffman decoding of the blocks of baseline JPEG files. The bits come from memory that was cleaned
 * of byte stuffing and is followed by CW_JPEG_PAD zeros, so no bounds have to be checked inside of
 * a block. A struct is used by one thread. */
#ifndef CW_OPS_KERNELS_JPEG_HUFF_H
#define CW_OPS_KERNELS_JPEG_HUFF_H

#include <stdbool.h>
#include "base/compiler.h"

#define CW_JPEG_PAD 4096 /* bytes; more than the longest MCU has: 10 blocks x 64 x 32 bits */
/* codes of at most so many bits are found with one look into a table */
/* (larger tables leave the first-level cache) */
#define CW_JPEG_FAST_BITS 10
/* Coefficients for which a block has room: 64, and one more that is written to when runs end
 * beyond. */
#define CW_JPEG_BLOCK 96

/* Tables with an entry for each value of the next CW_JPEG_FAST_BITS bits. An entry of 0 means a longer code, or an
 * invalid one. A step is the run + 1, or 100 for the end of the block. */
struct cw_jpeg_huff {
    bool is_set;
    uint8_t bits[17], vals[256]; /* the file's table from which these were built */
    /* Entries for one code: value << 16 | code length << 12 | step << 5 | bits of code and value.
     * The value is 0 if not all of its bits are known. */
    uint32_t one[1 << CW_JPEG_FAST_BITS];
    /* Entries for two codes with their values, or one code twice: value << 25 | value << 18 | step
     * << 11 | step << 4 | bits */
    uint32_t two[1 << CW_JPEG_FAST_BITS];
    /* Entries for one or two codes that are skipped: steps << 5 | bits */
    uint16_t pass[1 << CW_JPEG_FAST_BITS];
    /* for each length i: codes of that length, extended to 16 bits, are below limit[i] */
    uint32_t limit[18];
    int32_t first[17]; /* the index in vals of a code of length i is code + first[i] */
};
struct cw_jpeg_bits {
    const uint8_t *at;
    uint64_t buf; /* the next bits of the data, beginning at the top */
    unsigned n;   /* how many bits of buf are valid */
};

/* Builds the tables from a table of the file, unless they are built from the same one already.
 * Returns false if the codes are invalid. */
bool cw_jpeg_huff_set(struct cw_jpeg_huff *huff, const uint8_t bits[17], const uint8_t vals[256],
                      bool is_dc);
/* Decodes one block: adds the difference to *dc, and writes coefficients in natural order to the
 * zeroed block. Returns 1; 0 if all coefficients but the first are 0; or -1 if the data are
 * damaged. */
int cw_jpeg_huff_block(struct cw_jpeg_bits *bits, const struct cw_jpeg_huff *dc_huff,
                       const struct cw_jpeg_huff *ac_huff, int32_t *dc,
                       int16_t block[CW_JPEG_BLOCK]);
/* Decodes a block that nobody needs. Returns false if the data are damaged. */
bool cw_jpeg_huff_skip(struct cw_jpeg_bits *bits, const struct cw_jpeg_huff *dc_huff,
                       const struct cw_jpeg_huff *ac_huff, int32_t *dc);

/* Copies a segment up to its marker, without the zeros that are stuffed behind 0xff, and adds
 * padding. Returns false if the data end before a marker. dst has room for n + CW_JPEG_PAD bytes.
 * *ret_used receives the number of bytes before the marker's 0xff. */
bool cw_jpeg_unstuff(uint8_t *dst, const uint8_t *src, size_t n, size_t *ret_n, size_t *ret_used);

#endif
