/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the values of a page, in the encodings that need no dictionary. Functions return NULL, or
 * what is wrong. */
#ifndef CW_FORMAT_PARQUET_VALUES_H
#define CW_FORMAT_PARQUET_VALUES_H

#include "format/byte_strings.h"
#include "format/parquet/footer.h"

enum cw_pq_encoding { /* the numbers of the format */
                      CW_PQ_PLAIN = 0,
                      CW_PQ_PLAIN_DICTIONARY = 2,
                      CW_PQ_RLE = 3,
                      CW_PQ_BIT_PACKED = 4,
                      CW_PQ_DELTA_BINARY_PACKED = 5,
                      CW_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
                      CW_PQ_DELTA_BYTE_ARRAY = 7,
                      CW_PQ_RLE_DICTIONARY = 8,
                      CW_PQ_BYTE_STREAM_SPLIT = 9
};

struct cw_pq_values {
    const uint8_t *p, *end; /* the encoded bytes */
    size_t n;               /* number of values */
    enum cw_pq_physical physical;
    uint32_t type_bytes;
};
/* Bytes of a decoded value: 1 for a bool; 0: a string. */
size_t cw_pq_value_bytes(enum cw_pq_physical physical, uint32_t type_bytes);
/* Writes the values to dst (with room for n), or appends them to `strings`. */
const char *cw_pq_values_get(struct cw_pq_values *values, int encoding, uint8_t *dst,
                             struct cw_byte_strings *strings);

/* DELTA_BINARY_PACKED: writes n integers of `bytes` bytes (4 or 8), and moves *p behind them. */
const char *cw_pq_delta_get(const uint8_t **p, const uint8_t *end, size_t n, size_t bytes,
                            uint8_t *dst);
/* DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY. */
const char *cw_pq_delta_strings_get(struct cw_pq_values *values, bool prefixes,
                                    struct cw_byte_strings *strings);

#endif
