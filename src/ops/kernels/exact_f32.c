/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/kernels/exact_f32.h"

#include "ops/kernels/kernel_table.h"

void cw_exact_exp_f32(float *dst, const float *src, size_t n)
{
    cw_kernels()->exp_f32(dst, src, n);
}

void cw_exact_log_f32(float *dst, const float *src, size_t n)
{
    cw_kernels()->log_f32(dst, src, n);
}
