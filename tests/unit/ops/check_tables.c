/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the kernels for tables and expressions. Arrays end where their memory ends, so that a
 * sanitizer sees what is read or written behind them. */
#include "support/cm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/columns.h"
#include "ops/kernels/exact_math.h"
#include "unit/ops/check_kernels.h"

/* Floats of a table, with NaN, infinities, zeros of both signs, and many that are equal. They end where
 * their memory ends. */
static float *floats(struct random *random, size_t n)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1.0f, -1.0f, 2.5f};
    float *v = malloc(n * sizeof(*v) + 1);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = below(random, 3) ? ((float)below(random, 2000) - 1000) / 64
                                : special[below(random, CW_ARRAY_LEN(special))];
    return v;
}

/* Numbers of a period, without NaN. */
static float *numbers(struct random *random, size_t period)
{
    float *v = floats(random, period);
    for (size_t i = 0; i < period; i++)
        v[i] = isnan(v[i]) ? 3.0f : v[i];
    return v;
}

typedef void columns_fn(float *dst, const float *src, size_t n, const float *a, const float *b,
                        size_t period);

static void check_columns(columns_fn *plain, columns_fn *level, struct random *random)
{
    const size_t period = CW_COLUMNS_VECTOR * (1 + below(random, 4)), n = below(random, 150);
    float *src = floats(random, n), *low = numbers(random, period), *high = numbers(random, period);
    float *a = floats(random, n), *b = floats(random, n);
    plain(a, src, n, low, high, period);
    level(b, src, n, low, high, period);
    if (n > 0)
        assert_memory_equal(a, b, n * sizeof(float));
    free(a);
    free(b);
    free(src);
    free(low);
    free(high);
}

static const struct cw_kernels *fill_kernels;
static void fill_of_level(float *dst, const float *src, size_t n, const float *a, const float *b,
                          size_t period)
{
    (void)b;
    fill_kernels->column_fill(dst, src, n, a, period);
}

static void fill_plain(float *dst, const float *src, size_t n, const float *a, const float *b,
                       size_t period)
{
    (void)b;
    cw_columns_fill_plain(dst, src, n, a, period);
}

void check_column_fill(const struct cw_kernels *plain, const struct cw_kernels *level,
                       struct random *random)
{
    (void)plain;
    fill_kernels = level;
    check_columns(fill_plain, fill_of_level, random);
}

void check_column_clip(const struct cw_kernels *plain, const struct cw_kernels *level,
                       struct random *random)
{
    check_columns(plain->column_clip, level->column_clip, random);
}

void check_column_scale(const struct cw_kernels *plain, const struct cw_kernels *level,
                        struct random *random)
{
    check_columns(plain->column_scale, level->column_scale, random);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void check_column_bucket(const struct cw_kernels *plain, const struct cw_kernels *level,
                         struct random *random)
{
    const size_t period = CW_COLUMNS_VECTOR * (1 + below(random, 3)), n = below(random, 150);
    struct cw_columns_bounds bounds = {
        .n = 1 + below(random, 60), .period = period, .right = below(random, 2) == 1};
    float *src = floats(random, n), *all = malloc(bounds.n * period * sizeof(*all));
    int32_t *limit = malloc(period * sizeof(*limit));
    for (size_t p = 0; p < period; p++) {
        limit[p] = (int32_t)(1 + below(random, bounds.n));
        float *column = numbers(random, bounds.n);
        qsort(column, (size_t)limit[p], sizeof(*column), compare_floats);
        for (size_t k = 0; k < bounds.n; k++)
            all[k * period + p] = k < (size_t)limit[p] ? column[k] : INFINITY;
        free(column);
    }
    bounds.bounds = all;
    bounds.limit = limit;
    int64_t *a = malloc(n * sizeof(*a) + 1), *b = malloc(n * sizeof(*b) + 1);
    assert_true(a && b);
    plain->column_bucket(a, src, n, &bounds);
    level->column_bucket(b, src, n, &bounds);
    if (n > 0)
        assert_memory_equal(a, b, n * sizeof(*a));
    free(a);
    free(b);
    free(src);
    free(all);
    free(limit);
}

/* Doubles of any size, with special ones among them. */
static double *doubles(struct random *random, size_t n)
{
    double *v = malloc(n * sizeof(*v) + 1);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = cw_rng_u64(&random->rng, random->draws++);
        const float one = (float)below(random, 1000) / 16;
        memcpy(&v[i], &bits, sizeof(bits));
        v[i] = below(random, 3) == 0 ? (double)one : fabs(v[i]);
        if (below(random, 20) == 0)
            v[i] = -v[i];
    }
    return v;
}

/* One NaN is as good as another until expr_store: the processor chooses which of two operands it is. */
static void assert_doubles(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(a[i]) || !isnan(b[i]))
            assert_memory_equal(&a[i], &b[i], sizeof(*a));
}

void check_expr_arith(const struct cw_kernels *plain, const struct cw_kernels *level,
                      struct random *random)
{
    const size_t n = 1 + below(random, 140);
    double *a = doubles(random, n), *b = doubles(random, n), *c = malloc(n * sizeof(*c));
    const enum cw_expr_loop_sign sign = (enum cw_expr_loop_sign)below(random, 4);
    const struct cw_expr_loop_operand y = {b, below(random, 2)};
    const size_t step = below(random, 2);
    assert_non_null(c);
    plain->expr_arith(c, (struct cw_expr_loop_operand){a, step}, y, n, sign);
    level->expr_arith(a, (struct cw_expr_loop_operand){a, step}, y, n, sign); /* in place */
    assert_doubles(c, a, n);
    free(a);
    free(b);
    free(c);
}

void check_expr_log(const struct cw_kernels *plain, const struct cw_kernels *level,
                    struct random *random)
{
    const size_t n = below(random, 140);
    double *a = doubles(random, n), *b = malloc(n * sizeof(*b) + 1);
    assert_non_null(b);
    for (size_t i = 0; i < n; i++)
        b[i] = cw_exact_log(a[i]);
    (below(random, 2) ? plain : level)->expr_log(a, n);
    assert_doubles(a, b, n);
    free(a);
    free(b);
}

void check_expr_round(const struct cw_kernels *plain, const struct cw_kernels *level,
                      struct random *random)
{
    const size_t n = below(random, 140);
    double *a = doubles(random, n), *b = malloc(n * sizeof(*b) + 1);
    assert_non_null(b);
    if (n > 0)
        memcpy(b, a, n * sizeof(*a));
    plain->expr_round(a, n);
    level->expr_round(b, n);
    assert_doubles(a, b, n);
    free(a);
    free(b);
}

void check_expr_load(const struct cw_kernels *plain, const struct cw_kernels *level,
                     struct random *random)
{
    const size_t n = below(random, 140);
    float *src = floats(random, n);
    double *a = malloc(n * sizeof(*a) + 1), *b = malloc(n * sizeof(*b) + 1);
    assert_true(a && b);
    plain->expr_load(a, src, n);
    level->expr_load(b, src, n);
    assert_doubles(a, b, n);
    free(src);
    free(a);
    free(b);
}

/* The only NaN that an operator makes. */
static const float one_nan = NAN;

void check_expr_store(const struct cw_kernels *plain, const struct cw_kernels *level,
                      struct random *random)
{
    const size_t n = below(random, 140);
    double *src = doubles(random, n);
    float *a = malloc(n * sizeof(*a) + 1), *b = malloc(n * sizeof(*b) + 1);
    assert_true(a && b);
    plain->expr_store(a, src, n);
    level->expr_store(b, src, n);
    if (n > 0)
        assert_memory_equal(a, b, n * sizeof(*a));
    for (size_t i = 0; i < n; i++)
        assert_true(!isnan(a[i]) || memcmp(&a[i], &one_nan, sizeof(*a)) == 0);
    free(src);
    free(a);
    free(b);
}
