/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses the pages of Parquet files. */
#ifndef CW_FORMAT_PARQUET_UNPACK_H
#define CW_FORMAT_PARQUET_UNPACK_H

#include <stddef.h>

enum cw_pq_codec { /* the numbers of the format */
                   CW_PQ_UNCOMPRESSED,
                   CW_PQ_SNAPPY,
                   CW_PQ_GZIP,
                   CW_PQ_LZO,
                   CW_PQ_BROTLI,
                   CW_PQ_LZ4,
                   CW_PQ_ZSTD,
                   CW_PQ_LZ4_RAW
};
/* Decompresses to exactly `bytes` bytes. Returns NULL, or what is wrong. */
const char *cw_pq_unpack(int codec, const void *p, size_t n, void *dst, size_t bytes);

#endif
