/* SPDX-License-Identifier: Apache-2.0 */
/* exp, log, sin and cos from additions, multiplications and divisions only, so that every CPU gives
 * the same bits. */
#include "ops/kernels/exact_math.h"

#include <math.h>
#include <stdint.h>

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

/* pi / 2 as the sum of three numbers, of which multiples of the first two are exact up to 2^20 (as in
 * fdlibm) */
#define HALF_PI_1 1.57079632673412561417e+00
#define HALF_PI_2 6.07710050630396597660e-11
#define HALF_PI_3 2.02226624879595063154e-21

/* sin and cos of |r| <= pi / 4 by their series */
static double small_sin(double r)
{
    const double r2 = r * r;
    double sum = 1.0;
    for (int n = 19; n >= 3; n -= 2)
        sum = 1.0 - sum * r2 / (n * (n - 1));
    return r * sum;
}

static double small_cos(double r)
{
    const double r2 = r * r;
    double sum = 1.0;
    for (int n = 20; n >= 2; n -= 2)
        sum = 1.0 - sum * r2 / (n * (n - 1));
    return sum;
}

/* sin of x and `quarters` right angles */
static double sin_from(double x, int quarters)
{
    const double k = rint(x / (HALF_PI_1 + HALF_PI_2));
    const double r = ((x - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    const int quadrant = (int)((((int64_t)k + quarters) % 4 + 4) % 4);
    const double v = quadrant % 2 ? small_cos(r) : small_sin(r);
    return quadrant >= 2 ? -v : v;
}

double cw_exact_sin(double x)
{
    return sin_from(x, 0);
}

double cw_exact_cos(double x)
{
    return sin_from(x, 1);
}
