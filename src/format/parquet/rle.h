/* SPDX-License-Identifier: Apache-2.0 */
/* Reads numbers of few bits: runs of one number, and packed ones, in turn (levels, indices of a
 * dictionary, bools). Functions return NULL, or what is wrong. One thread uses a reader. */
#ifndef CW_FORMAT_PARQUET_RLE_H
#define CW_FORMAT_PARQUET_RLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_pq_rle {
    const uint8_t *p, *end;
    unsigned width; /* bits of a number, at most 32 */
    uint64_t left;  /* numbers of this run that were not read */
    bool packed;    /* they are packed from `run` on; otherwise each is `value` */
    const uint8_t *run;
    uint64_t bit; /* in run */
    uint32_t value;
};
struct cw_pq_rle cw_pq_rle_begin(const void *p, size_t n, unsigned width);
const char *cw_pq_rle_get(struct cw_pq_rle *r, uint32_t *dst, size_t n);
/* The same for numbers of at most 8 bits, each a byte. */
const char *cw_pq_rle_get_bytes(struct cw_pq_rle *r, uint8_t *dst, size_t n);
/* Whether the next n numbers are one run of `value`. */
bool cw_pq_rle_is_all(struct cw_pq_rle *r, size_t n, uint32_t value);

/* Reads n packed numbers, from that bit of p on. The caller has seen that the bytes are there, up
 * to `end`. */
void cw_pq_bits_get(const uint8_t *p, const uint8_t *end, uint64_t bit, unsigned width,
                    uint32_t *dst, size_t n);
/* A number of up to 64 bits. */
uint64_t cw_pq_bits_one(const uint8_t *p, const uint8_t *end, uint64_t bit, unsigned width);
/* A number of 7 bits a byte. Returns false at the end of the bytes, or if it has more than 64
 * bits. */
bool cw_pq_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret_value);

#endif
