/* SPDX-License-Identifier: Apache-2.0 */
/* exp and log from additions and multiplications only, so that every CPU gives the same bits. */
#include "ops/kernels/exact_math.h"

#include <math.h>

/* ln 2 as the sum of two numbers; multiples of the first are exact (as in fdlibm) */
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#define LN2_INVERSE 1.44269504088896338700e+00

double cw_exact_exp(double x)
{
    const double k = rint(x * LN2_INVERSE);
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1.0;
    for (int n = 17; n >= 1; n--) /* |r| < 0.35, so the next term is below 1e-23 */
        sum = 1.0 + sum * r / n;
    return ldexp(sum, (int)k);
}

double cw_exact_log(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752440) {
        m *= 2;
        e--;
    }
    /* log m = 2 atanh((m - 1) / (m + 1)), whose argument is below 0.172 */
    const double t = (m - 1.0) / (m + 1.0), t2 = t * t;
    double sum = 0.0;
    for (int n = 21; n >= 1; n -= 2)
        sum = sum * t2 + 1.0 / n;
    return (2.0 * t * sum + e * LN2_LOW) + e * LN2_HIGH;
}
