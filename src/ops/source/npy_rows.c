/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and copies rows of NumPy's arrays. */
#include "ops/source/npy_rows.h"

bool cw_npy_is_spread(const struct cw_npy_header *h)
{
    return h->fortran && h->rank > 1;
}

uint64_t cw_npy_row_bytes(const struct cw_npy_header *h)
{
    return h->dims[0] > 0 ? h->data_bytes / (uint64_t)h->dims[0] : 0;
}

int cw_npy_rows_read(struct cw_file_set *files, size_t i, const struct cw_npy_header *h,
                     uint64_t begin, uint64_t row, size_t n, void *dst, struct cw_err *err)
{
    const uint64_t bytes = cw_npy_row_bytes(h);
    const int64_t step = 1, values = (int64_t)(n * bytes / cw_dtype_bytes(h->dtype));
    struct cw_file_use use;
    int rc = cw_file_set_use(files, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_readable_get(&use.readable, begin + row * bytes, dst, n * bytes, err);
    cw_file_set_release(files, &use);
    if (rc == 0 && h->swapped)
        cw_npy_copy(dst, dst, h, 1, &values, &step);
    return rc;
}

void cw_npy_rows_copy(const struct cw_npy_header *h, const void *values, uint64_t row, size_t n,
                      void *dst)
{
    const uint64_t bytes = cw_npy_row_bytes(h);
    int64_t strides[CW_NPY_DIMS_MAX];
    cw_npy_strides(h, strides);
    for (size_t i = 0; i < n; i++)
        cw_npy_copy((uint8_t *)dst + i * bytes,
                    (const uint8_t *)values +
                        (row + i) * (uint64_t)strides[0] * cw_dtype_bytes(h->dtype),
                    h, h->rank - 1, h->dims + 1, strides + 1);
}
