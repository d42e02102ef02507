/* SPDX-License-Identifier: Apache-2.0 */
/* exp and log that give the same bits on every CPU: the C library's choose code by processor,
 * and differ in the last place. For option-sized arguments; good to about 1e-15. */
#ifndef CW_OPS_KERNELS_EXACT_MATH_H
#define CW_OPS_KERNELS_EXACT_MATH_H

double cw_exact_exp(double x); /* |x| <= 700 */
double cw_exact_log(double x); /* x > 0, finite */

#endif
