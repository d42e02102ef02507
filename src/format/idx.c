/* SPDX-License-Identifier: Apache-2.0 */
/* Parses headers and names of idx files, and converts their values to this machine's byte order. */
#include "format/idx.h"

#include <endian.h>
#include <string.h>

static bool dtype_of_code(uint8_t code, enum cw_dtype *ret_dtype)
{
    switch (code) {
    case 0x08:
        *ret_dtype = CW_DTYPE_U8;
        return true;
    case 0x09:
        *ret_dtype = CW_DTYPE_I8;
        return true;
    case 0x0b:
        *ret_dtype = CW_DTYPE_I16;
        return true;
    case 0x0c:
        *ret_dtype = CW_DTYPE_I32;
        return true;
    case 0x0d:
        *ret_dtype = CW_DTYPE_F32;
        return true;
    case 0x0e:
        *ret_dtype = CW_DTYPE_F64;
        return true;
    default:
        return false;
    }
}

static int64_t dim_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return be32toh(v);
}

int cw_idx_parse(const void *p, size_t n, const char *name, struct cw_idx_header *ret_header,
                 struct cw_err *err)
{
    const uint8_t *bytes = p;
    struct cw_idx_header h = {0};
    if (n < 4 || bytes[0] != 0 || bytes[1] != 0)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: not an idx file (it must begin with two zero bytes)", name);
    if (!dtype_of_code(bytes[2], &h.dtype))
        return cw_err_set(err, CW_E_CORRUPT, "%s: not an idx file (type code 0x%02x)", name,
                          bytes[2]);
    int dims_n = bytes[3];
    if (dims_n < 1 || dims_n > CW_IDX_DIMS_MAX)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: idx header with %d dimensions (1 to %d are possible)", name, dims_n,
                          CW_IDX_DIMS_MAX);
    h.header_bytes = 4 + 4 * (size_t)dims_n;
    if (n < h.header_bytes)
        return cw_err_set(err, CW_E_CORRUPT,
                          "%s: truncated: the idx header needs %zu bytes, there are %zu", name,
                          h.header_bytes, n);
    h.records = dim_at(bytes + 4);
    h.rank = dims_n - 1;
    h.record_bytes = cw_dtype_bytes(h.dtype);
    for (int i = 0; i < h.rank; i++) {
        h.dims[i] = dim_at(bytes + 8 + 4 * i);
        if (__builtin_mul_overflow(h.record_bytes, (size_t)h.dims[i], &h.record_bytes))
            return cw_err_set(err, CW_E_CORRUPT, "%s: idx header: a record is too large", name);
    }
    if (__builtin_mul_overflow((uint64_t)h.records, (uint64_t)h.record_bytes, &h.file_bytes) ||
        __builtin_add_overflow(h.file_bytes, (uint64_t)h.header_bytes, &h.file_bytes))
        return cw_err_set(err, CW_E_CORRUPT, "%s: idx header: the data are too large", name);
    *ret_header = h;
    return 0;
}

void cw_idx_convert(void *dst, const void *src, size_t n, size_t value_bytes)
{
    char *d = dst;
    const char *s = src;
    for (size_t i = 0; i < n && value_bytes == 2; i++) {
        uint16_t v;
        memcpy(&v, s + 2 * i, sizeof(v));
        v = be16toh(v);
        memcpy(d + 2 * i, &v, sizeof(v));
    }
    for (size_t i = 0; i < n && value_bytes == 4; i++) {
        uint32_t v;
        memcpy(&v, s + 4 * i, sizeof(v));
        v = be32toh(v);
        memcpy(d + 4 * i, &v, sizeof(v));
    }
    for (size_t i = 0; i < n && value_bytes == 8; i++) {
        uint64_t v;
        memcpy(&v, s + 8 * i, sizeof(v));
        v = be64toh(v);
        memcpy(d + 8 * i, &v, sizeof(v));
    }
    if (value_bytes == 1 && dst != src && n > 0)
        memcpy(dst, src, n);
}
