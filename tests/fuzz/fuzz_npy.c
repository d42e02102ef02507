/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's array files: the header, and rows of the values in C and Fortran order and either byte order. */
#include <string.h>

#include "base/mem.h"
#include "format/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { BYTES_MAX = 1 << 20 };

/* Copies the first row of an array whose bytes are all there. */
static void copy_row(const struct cw_npy_header *header, const uint8_t *values)
{
    int64_t strides[CW_NPY_DIMS_MAX];
    uint64_t bytes = cw_dtype_bytes(header->dtype);
    for (int i = 1; i < header->rank; i++)
        bytes *= (uint64_t)header->dims[i];
    CW_ASSERT(bytes <= header->data_bytes);
    cw_autofree uint8_t *row = cw_mem_new((size_t)bytes + 1);
    cw_npy_strides(header, strides);
    cw_npy_copy(row, values, header, header->rank - 1, header->dims + 1, strides + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_npy_header header;
    struct cw_err err = {0};
    size_t bytes = 0;
    if (cw_npy_header_bytes(data, n, "f", &bytes, &err) < 0 ||
        cw_npy_parse(data, n, "f", &header, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return 0;
    }
    CW_ASSERT(header.rank >= 0 && header.rank <= CW_NPY_DIMS_MAX && header.header_bytes == bytes);
    for (int i = 0; i < header.rank; i++)
        CW_ASSERT(header.dims[i] >= 0);
    if (header.header_bytes > n || header.data_bytes > n - header.header_bytes ||
        header.data_bytes > BYTES_MAX || header.rank == 0 || header.data_bytes == 0)
        return 0;
    /* in memory of its own, so that it is seen who reads behind it */
    cw_autofree uint8_t *values = cw_mem_new((size_t)header.data_bytes);
    memcpy(values, data + header.header_bytes, (size_t)header.data_bytes);
    copy_row(&header, values);
    return 0;
}
