/* SPDX-License-Identifier: Apache-2.0 */
/* Transcendental functions from additions, multiplications and divisions only, so that every CPU gives
 * the same bits. */
#include "ops/kernels/exact_math.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ln 2 as the sum of two numbers; multiples of the first are exact (as in fdlibm) */
#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#define LN2_INVERSE 1.44269504088896338700e+00

/* |x| <= 700 */
static double small_exp(double x)
{
    const double k = rint(x * LN2_INVERSE);
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1.0;
    for (int n = 17; n >= 1; n--) /* |r| < 0.35, so the next term is below 1e-23 */
        sum = 1.0 + sum * r / n;
    return ldexp(sum, (int)k);
}

double cw_exact_exp(double x)
{
    if (isnan(x))
        return x;
    if (x > 710)
        return (double)INFINITY;
    if (x < -746)
        return 0;
    if (fabs(x) <= 700)
        return small_exp(x);
    const double half = small_exp(x / 2);
    return half * half;
}

/* x as m 2^e with m between the roots of 1/2 and of 2; returns log m */
static double log_split(double x, int *ret_e)
{
    double m = frexp(x, ret_e);
    if (m < 0.70710678118654752440) {
        m *= 2;
        --*ret_e;
    }
    /* log m = 2 atanh((m - 1) / (m + 1)), whose argument is below 0.172 */
    const double t = (m - 1.0) / (m + 1.0), t2 = t * t;
    double sum = 0.0;
    for (int n = 21; n >= 1; n -= 2)
        sum = sum * t2 + 1.0 / n;
    return 2.0 * t * sum;
}

/* Whether x has no finite logarithm; *ret_log is then what it has. */
static bool log_is_special(double x, double *ret_log)
{
    if (isnan(x) || x < 0)
        *ret_log = (double)NAN;
    else if (x > 0)
        *ret_log = x;
    else
        *ret_log = (double)-INFINITY;
    return !(x > 0) || isinf(x);
}

double cw_exact_log(double x)
{
    int e;
    double special;
    if (log_is_special(x, &special))
        return special;
    const double log_m = log_split(x, &e);
    return (log_m + e * LN2_LOW) + e * LN2_HIGH;
}

double cw_exact_log2(double x)
{
    int e;
    double special;
    if (log_is_special(x, &special))
        return special;
    const double log_m = log_split(x, &e);
    return log_m * LN2_INVERSE + e;
}

static double int_power(double x, double y)
{
    double r = 1;
    for (unsigned n = (unsigned)fabs(y); n > 0; n >>= 1, x *= x)
        r *= n & 1 ? x : 1;
    return y < 0 ? 1 / r : r;
}

double cw_exact_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    if (isnan(x) || isnan(y))
        return (double)NAN;
    const bool whole = floor(y) == y;
    if (whole && fabs(y) <= 1024)
        return int_power(x, y);
    if (y == 0.5)
        return sqrt(x);
    if (isinf(y))
        return fabs(x) == 1 ? 1 : (fabs(x) > 1) == (y > 0) ? (double)INFINITY : 0;
    if (x < 0)
        return whole ? (fmod(y, 2) != 0 ? -1 : 1) * cw_exact_exp(y * cw_exact_log(-x))
                     : (double)NAN;
    return x == 0 ? (y > 0 ? 0 : (double)INFINITY) : cw_exact_exp(y * cw_exact_log(x));
}

/* pi / 2 as the sum of three numbers, of which multiples of the first two are exact up to 2^20 (as in
 * fdlibm) */
#define HALF_PI_1 1.57079632673412561417e+00
#define HALF_PI_2 6.07710050630396597660e-11
#define HALF_PI_3 2.02226624879595063154e-21

/* beyond it nothing is left of the angle: k below would not be exact */
#define SIN_MAX 0x1p50

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
    if (!(fabs(x) <= SIN_MAX))
        return (double)NAN;
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

/* pi, pi / 2 and pi / 4 */
#define PI 3.14159265358979311600e+00
#define HALF_PI 1.57079632679489655800e+00
#define QUARTER_PI 7.85398163397448278999e-01
#define TAN_EIGHTH_PI 0.41421356237309504880

/* atan of 0 <= z <= 1 */
static double small_atan(double z)
{
    const bool far = z > TAN_EIGHTH_PI;
    const double w = far ? (z - 1.0) / (z + 1.0) : z, w2 = w * w;
    double sum = 0.0;
    for (int n = 41; n >= 1; n -= 2) /* w2 < 0.172, so the next term is below 1e-17 */
        sum = 1.0 / n - sum * w2;
    return far ? QUARTER_PI + w * sum : w * sum;
}

double cw_exact_atan2(double y, double x)
{
    if (isnan(x) || isnan(y))
        return (double)NAN;
    const double ax = fabs(x), ay = fabs(y);
    double a = 0; /* the angle in the first quadrant */
    if (isinf(ax) && isinf(ay))
        a = QUARTER_PI;
    else if (ay > ax)
        a = HALF_PI - small_atan(ax / ay);
    else if (ay > 0)
        a = small_atan(ay / ax);
    if (signbit(x))
        a = PI - a;
    return copysign(a, y);
}
