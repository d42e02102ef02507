/* SPDX-License-Identifier: Apache-2.0 */
/* exp and log of arrays of f32, with the same bits on every CPU and at every level. They follow Cephes
 * (expf, logf): an error of less than 1 ulp for log, 2 ulp for exp. Special values are those of the C
 * library, with one NaN. dst may be src. */
#ifndef CW_OPS_KERNELS_EXACT_F32_H
#define CW_OPS_KERNELS_EXACT_F32_H

#include "base/compiler.h"

void cw_exact_exp_f32(float *dst, const float *src, size_t n);
void cw_exact_log_f32(float *dst, const float *src, size_t n);

/* the kernels exp_f32 and log_f32 */
void cw_exact_exp_f32_plain(float *dst, const float *src, size_t n);
void cw_exact_exp_f32_avx2(float *dst, const float *src, size_t n);
void cw_exact_log_f32_plain(float *dst, const float *src, size_t n);
void cw_exact_log_f32_avx2(float *dst, const float *src, size_t n);

#endif
