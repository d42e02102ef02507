/* SPDX-License-Identifier: Apache-2.0 */
/* NaN with one pattern of bits. Which bits a NaN has that arithmetic makes depends on the processor (x86 sets
 * the sign, arm64 does not) and on the order in which a compiler has put operands, so what an operator makes
 * gets NaNs with the bits of the C constant NAN: a quiet one, without sign and payload. */
#ifndef CW_OPS_KERNELS_ONE_NAN_H
#define CW_OPS_KERNELS_ONE_NAN_H

#include <math.h>
#include <stddef.h>

/* Returns v, which may be NaN. */
static inline double cw_one_nan(double v)
{
    return isnan(v) ? (double)NAN : v;
}

/* The kernel one_nan: each NaN of an array becomes NAN. */
void cw_one_nan_plain(float *v, size_t n);
void cw_one_nan_avx2(float *v, size_t n);

#endif
