/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, sin and cos that give the same bits on every CPU. Those of the C library choose their code by
 * processor, and the last bit of their results differs. They are made for numbers of the size of
 * options; the error is about 1e-15. */
#ifndef CW_OPS_KERNELS_EXACT_MATH_H
#define CW_OPS_KERNELS_EXACT_MATH_H

double cw_exact_exp(double x); /* |x| <= 700 */
double cw_exact_log(double x); /* x > 0, finite */
double cw_exact_sin(double x); /* |x| <= 1e6 */
double cw_exact_cos(double x); /* |x| <= 1e6 */

#endif
