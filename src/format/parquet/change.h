/* SPDX-License-Identifier: Apache-2.0 */
/* Changes values from how the file has them to their dtype. */
#ifndef CW_FORMAT_PARQUET_CHANGE_H
#define CW_FORMAT_PARQUET_CHANGE_H

#include "format/parquet/slab.h"

/* Changes n values from src to dst, which has want->width bytes for each. Returns NULL, or what is
 * wrong. */
const char *cw_pq_change(const struct cw_pq_want *want, const uint8_t *src, size_t n, uint8_t *dst);
/* The same for values that are strings of bytes (decimals). */
const char *cw_pq_change_strings(const struct cw_pq_want *want,
                                 const struct cw_byte_strings *strings, uint8_t *dst);

#endif
