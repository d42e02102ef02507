/* SPDX-License-Identifier: Apache-2.0 */
/* The idx format of the MNIST family: two zero bytes, a type code, the number of dimensions, the
 * dimensions as u32, then the values, all in big endian. The first dimension is the number of
 * records. */
#ifndef CW_FORMAT_IDX_H
#define CW_FORMAT_IDX_H

#include "base/err.h"
#include "data/spec.h"

#define CW_IDX_DIMS_MAX (CW_RANK_MAX + 1)
#define CW_IDX_HEADER_BYTES_MAX (4 + 4 * CW_IDX_DIMS_MAX)

struct cw_idx_header {
    enum cw_dtype dtype;
    int rank;                  /* rank of a record */
    int64_t dims[CW_RANK_MAX]; /* dims of a record */
    int64_t records;
    size_t header_bytes, record_bytes;
    uint64_t file_bytes; /* bytes of the header and all records */
};
/* Parses the first n bytes of a file (CW_IDX_HEADER_BYTES_MAX of them are always enough). */
int cw_idx_parse(const void *p, size_t n, const char *name, struct cw_idx_header *ret_header,
                 struct cw_err *err);
/* Converts n values of value_bytes bytes each from big endian to this machine's byte order; src may
 * be dst. */
void cw_idx_convert(void *dst, const void *src, size_t n, size_t value_bytes);

#endif
