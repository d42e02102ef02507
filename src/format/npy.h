/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's array files, versions 1 to 3: a magic, the length of the header, the header (a Python
 * literal that says dtype, order and shape), and the values. Arrays of objects, strings and records
 * are refused. */
#ifndef CW_FORMAT_NPY_H
#define CW_FORMAT_NPY_H

#include "base/err.h"
#include "data/spec.h"

#define CW_NPY_DIMS_MAX (CW_RANK_MAX + 1)
/* So many bytes of a file always say how long its header is. */
#define CW_NPY_MAGIC_BYTES 12
#define CW_NPY_HEADER_BYTES_MAX ((size_t)64 << 10)

struct cw_npy_header {
    enum cw_dtype dtype;
    int rank;
    int64_t dims[CW_NPY_DIMS_MAX];
    bool fortran; /* the first dimension runs fastest */
    bool swapped; /* the values are not in this machine's byte order */
    size_t header_bytes;
    uint64_t data_bytes;
};
/* Returns the bytes of the header, which lie at the beginning of the file, from its first n bytes
 * (CW_NPY_MAGIC_BYTES, or all that there are). */
int cw_npy_header_bytes(const void *p, size_t n, const char *name, size_t *ret_bytes,
                        struct cw_err *err);
/* Parses the header, which must be within the first n bytes. Messages begin with `name`. */
int cw_npy_parse(const void *p, size_t n, const char *name, struct cw_npy_header *ret_header,
                 struct cw_err *err);
/* Copies a part of an array into C order and this machine's byte order: rank dimensions with these
 * dims, whose strides are counted in values. */
void cw_npy_copy(void *dst, const void *src, const struct cw_npy_header *header, int rank,
                 const int64_t *dims, const int64_t *strides);
/* The strides of the file's array, in values. */
void cw_npy_strides(const struct cw_npy_header *header, int64_t strides[CW_NPY_DIMS_MAX]);

#endif
