/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHEW_TENSOR_H
#define CACHEW_TENSOR_H

#include <stddef.h>
#include <stdint.h>
#include "cachew/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of the values of a tensor. Integers and floating-point numbers have the byte order of
 * the host; a CACHEW_BOOL is one byte, 0 or 1; CACHEW_F16 is IEEE 754 half precision, and
 * CACHEW_BF16 the upper half of a single-precision number. CACHEW_STR is
 * a string of any bytes and length. The numbers are part of the ABI. */
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
    CACHEW_STR,
    CACHEW_BF16
};
/* Most dimensions that a tensor can have. */
#define CACHEW_RANK_MAX 8
/* In the dims of a cachew_field, never in those of a tensor: rows of a batch differ in this
 * dimension (option `ragged` of the operator `batch`; cachew_batch_ragged). */
#define CACHEW_DIM_RAGGED (-2)

/* One named tensor of a batch. All pointers belong to the batch and stay valid until it is
 * released; the memory must not be written (it may be mapped read-only), except as
 * cachew_batch_writable says. Values are contiguous and
 * row-major, and data is aligned to 64 bytes. The first dimension counts the elements of the
 * batch, if the pipeline has an operator `batch`; otherwise there is no such dimension.
 *
 * CACHEW_STR: data holds the bytes of all strings, one after the other, without NUL bytes between
 * them. offsets has one entry more than there are strings (their number is the product of dims),
 * and string i is the bytes from data[offsets[i]] up to, not including, data[offsets[i + 1]]. Such
 * data need not be aligned.
 *
 * A field that is ragged, whose rows have different shapes: the tensor has the values of all rows, one
 * row after another. If only the first dimension of rows differs, its dims are those of a row, with
 * the sum of the first ones: row i is tensor[begins[i]:begins[i + 1]]. If others differ too, it has
 * one dimension. cachew_batch_ragged tells where rows begin, and their shapes. Rows of strings are lists:
 * the tensor has the strings of all rows, and begins counts strings. */
struct cachew_tensor {
    const char *name; /* of the field, as `cachew check` prints it */
    enum cachew_dtype dtype;
    int rank;                      /* number of dimensions, 0 to CACHEW_RANK_MAX */
    int64_t dims[CACHEW_RANK_MAX]; /* the first `rank` entries are used */
    const void *data;              /* NULL if bytes is 0 */
    size_t bytes;                  /* size of data */
    const int64_t *offsets;        /* CACHEW_STR only, otherwise NULL; also NULL if data is */
};

/* The name of a type, for example "f32"; "unknown" for a number that is none. The text is static.
 * Any thread. */
const char *cachew_dtype_name(enum cachew_dtype dtype);
/* Bytes of one value; 0 for CACHEW_STR and for a number that is no type. Any thread. */
size_t cachew_dtype_bytes(enum cachew_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
