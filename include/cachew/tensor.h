/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHEW_TENSOR_H
#define CACHEW_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include "cachew/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cachew_dtype {
    CACHEW_U8,
    CACHEW_I8,
    CACHEW_U16,
    CACHEW_I16,
    CACHEW_U32,
    CACHEW_I32,
    CACHEW_U64,
    CACHEW_I64,
    CACHEW_F16,
    CACHEW_F32,
    CACHEW_F64,
    CACHEW_BOOL,
    CACHEW_STR
};
#define CACHEW_RANK_MAX 8

/* One named tensor of a batch. All pointers stay valid until the batch is released, and point at
 * memory that must not be written. data is 64-byte aligned, contiguous, row-major. CACHEW_STR:
 * data are the bytes of all strings, one behind the other; offsets has count + 1 entries, and
 * string i is data[offsets[i]] to data[offsets[i + 1]]. */
struct cachew_tensor {
    const char *name;
    enum cachew_dtype dtype;
    int rank;
    int64_t dims[CACHEW_RANK_MAX];
    const void *data;
    size_t bytes;
    const int64_t *offsets; /* CACHEW_STR only, else NULL */
};

/* "f32". Any thread. */
const char *cachew_dtype_name(enum cachew_dtype dtype);
/* Bytes of one value; 0 for CACHEW_STR. */
size_t cachew_dtype_bytes(enum cachew_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
