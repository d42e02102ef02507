/* SPDX-License-Identifier: Apache-2.0 */
/* Single values of any numeric dtype, and conversions between them that are the same on every CPU.
 * Memory need not be aligned. */
#ifndef CW_OPS_KERNELS_NUM_H
#define CW_OPS_KERNELS_NUM_H

#include "data/spec.h"

/* Returns value i of an array. Integers beyond 2^53 lose their low bits in a double: see
 * cw_num_get_i64. */
double cw_num_get_f64(enum cw_dtype dtype, const void *array, size_t i);
/* Returns value i as an integer: floats are cut towards zero, those beyond the range give its end,
 * and NaN gives 0. u64 wraps. */
int64_t cw_num_get_i64(enum cw_dtype dtype, const void *array, size_t i);
void cw_num_put_f64(enum cw_dtype dtype, void *array, size_t i, double v);
/* Sets value i; an integer that is too large wraps to the bits of the dtype. */
void cw_num_put_i64(enum cw_dtype dtype, void *array, size_t i, int64_t v);
bool cw_num_is_float(enum cw_dtype dtype);
/* Whether a conversion loses nothing: each value stays what it is. bool is taken for no number. */
bool cw_num_keeps(enum cw_dtype from, enum cw_dtype to);
/* Converts n values of one dtype to another by the rules in op_cast.c. dst and src do not
 * overlap. */
void cw_num_convert(enum cw_dtype to, void *dst, enum cw_dtype from, const void *src, size_t n);

#endif
