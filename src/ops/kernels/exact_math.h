/* SPDX-License-Identifier: Apache-2.0 */
/* Transcendental functions that give the same bits on every CPU. Those of the C library choose their
 * code by processor, and the last bit of their results differs. Special values are those of the C
 * library. Single numbers here; arrays of f32 in exact_f32.h. */
#ifndef CW_OPS_KERNELS_EXACT_MATH_H
#define CW_OPS_KERNELS_EXACT_MATH_H

double cw_exact_exp(double x);           /* error about 4e-15 of the result */
double cw_exact_log(double x);           /* error about 1e-15 of 1 + |result| */
double cw_exact_log2(double x);          /* the same; exact for powers of 2 */
double cw_exact_pow(double x, double y); /* |y log x| x 1e-15 of the result; whole y by products */
double cw_exact_sin(double x);           /* 4e-16 for |x| <= 1e6; NaN from 2^50 on */
double cw_exact_cos(double x);           /* the same */
double cw_exact_atan2(double y, double x); /* error about 4e-16 */

#endif
