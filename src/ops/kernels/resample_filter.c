/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the weights of a resize for one axis. */
#include "ops/kernels/resample_filter.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/exact_math.h"

const char *const cw_filter_names[] = {"nearest", "box", "bilinear", "bicubic", "lanczos", NULL};

static double weight_box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double weight_bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

/* Keys' cubic filter with a = -0.5. */
static double weight_bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0)
        return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
}

static double sinc(double x)
{
    const double angle = x * 3.14159265358979323846;
    return x < 0 || x > 0 ? cw_exact_sin(angle) / angle : 1.0;
}

static double weight_lanczos(double x)
{
    return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

static const struct {
    double (*weight)(double x);
    double support;
} filters[] = {
    [CW_FILTER_NEAREST] = {NULL, 0.0},
    [CW_FILTER_BOX] = {weight_box, 0.5},
    [CW_FILTER_BILINEAR] = {weight_bilinear, 1.0},
    [CW_FILTER_BICUBIC] = {weight_bicubic, 2.0},
    [CW_FILTER_LANCZOS] = {weight_lanczos, 3.0},
};

void cw_filter_fini(struct cw_filter_axis *axis)
{
    if (!axis)
        return;
    cw_mem_free(axis->first);
    cw_mem_free(axis->n);
    cw_mem_free(axis->weight);
    cw_mem_free(axis->split);
    cw_mem_free(axis->digits_room);
    cw_mem_free(axis->work);
    *axis = (struct cw_filter_axis){0};
}

/* Makes room for `out` rows of `taps` weights; the previous contents of the tables are lost. */
static int make_room(struct cw_filter_axis *axis, int32_t out, int32_t taps, struct cw_err *err)
{
    const size_t rows = (size_t)out, need = rows * (size_t)taps;
    if (need <= axis->cap)
        return 0;
    cw_filter_fini(axis);
    /* Some room is left, so that random crops soon need no new memory. */
    const size_t cap = need + need / 2;
    axis->first = cw_mem_try(cap * sizeof(*axis->first));
    axis->n = cw_mem_try(cap * sizeof(*axis->n));
    axis->weight = cw_mem_try(cap * sizeof(*axis->weight));
    axis->split = cw_mem_try(cap * 2 * sizeof(*axis->split));
    axis->digits_room = cw_mem_try(cap * 3);
    axis->work = cw_mem_try(cap * sizeof(*axis->work));
    if (!axis->first || !axis->n || !axis->weight || !axis->split || !axis->work ||
        !axis->digits_room) {
        cw_filter_fini(axis);
        return cw_err_set(err, CW_E_NOMEM, "no memory for the weights of a resize to %d samples",
                          out);
    }
    axis->cap = cap;
    return 0;
}

static void put_nearest(struct cw_filter_axis *axis)
{
    const double step = (double)axis->in / axis->out;
    /* Positions are added up, not multiplied, as Pillow does: the last bit sometimes decides. */
    double at = step * 0.5;
    for (int32_t o = 0; o < axis->out; o++, at += step) {
        const int32_t i = (int32_t)at;
        axis->first[o] = CW_MIN(i, axis->in - 1);
        axis->n[o] = 1;
        axis->weight[(size_t)o * (size_t)axis->taps] = 1 << CW_FILTER_BITS;
    }
}

static int32_t to_fixed(double x)
{
    const double scaled = x * (1 << CW_FILTER_BITS);
    return (int32_t)(x < 0 ? scaled - 0.5 : scaled + 0.5);
}

static void put_window(struct cw_filter_axis *axis, int32_t o, double scale, double support,
                       double stretch)
{
    const double center = (o + 0.5) * scale, inverse = 1.0 / stretch;
    int32_t lo = (int32_t)(center - support + 0.5), hi = (int32_t)(center + support + 0.5);
    lo = CW_MAX(lo, 0);
    hi = CW_MIN(hi, axis->in);
    double sum = 0, *work = axis->work;
    for (int32_t i = lo; i < hi; i++) {
        work[i - lo] = filters[axis->filter].weight((i - center + 0.5) * inverse);
        sum += work[i - lo];
    }
    int32_t *weight = axis->weight + (size_t)o * (size_t)axis->taps;
    int32_t n = 0;
    /* Weights that are 0 at either end are left out: they change nothing and cost time. */
    for (int32_t i = lo; i < hi; i++) {
        const int32_t w = to_fixed(sum != 0.0 ? work[i - lo] / sum : work[i - lo]);
        if (w == 0 && n == 0 && i + 1 < hi)
            lo++, work++;
        else
            weight[n++] = w;
    }
    while (n > 1 && weight[n - 1] == 0)
        n--;
    axis->first[o] = lo;
    axis->n[o] = n;
}

static void put_split(struct cw_filter_axis *axis)
{
    const size_t pairs = (size_t)axis->out * (size_t)axis->taps / 2;
    for (size_t i = 0; i < pairs; i++) {
        const int32_t a = axis->weight[2 * i], b = axis->weight[2 * i + 1];
        int16_t *split = axis->split + 4 * i;
        split[0] = (int16_t)(a >> CW_FILTER_LOW);
        split[1] = (int16_t)(b >> CW_FILTER_LOW);
        split[2] = (int16_t)(a & ((1 << CW_FILTER_LOW) - 1));
        split[3] = (int16_t)(b & ((1 << CW_FILTER_LOW) - 1));
    }
}

/* Writes the digits of a weight, 4 bytes apart. Returns false if it needs more. */
static bool put_digits(int32_t weight, int8_t *digit)
{
    const int32_t low = (int8_t)(uint8_t)(weight & 255), rest = (weight - low) >> 8;
    const int32_t middle = (int8_t)(uint8_t)(rest & 255), high = (rest - middle) >> 8;
    digit[0] = (int8_t)high;
    digit[4] = (int8_t)middle;
    digit[8] = (int8_t)low;
    return high >= INT8_MIN && high <= INT8_MAX;
}

static void put_all_digits(struct cw_filter_axis *axis)
{
    const size_t n = (size_t)axis->out * (size_t)axis->taps;
    bool fit = cw_cpu_best() >= CW_CPU_LEVEL_AVX512;
    for (size_t i = 0; i < n && fit; i++)
        fit = put_digits(axis->weight[i], axis->digits_room + i / 4 * 12 + i % 4);
    axis->digits = fit ? axis->digits_room : NULL;
}

int cw_filter_prepare(struct cw_filter_axis *axis, int32_t in, int32_t out, enum cw_filter filter,
                      struct cw_err *err)
{
    CW_ASSERT(in > 0 && out > 0);
    if (axis->in == in && axis->out == out && axis->filter == filter)
        return 0;
    const double scale = (double)in / out, stretch = CW_MAX(scale, 1.0);
    const double support = filters[filter].support * stretch;
    const int32_t taps = CW_ALIGN_UP((int32_t)ceil(support) * 2 + 1, 4);
    const int rc = make_room(axis, out, taps, err);
    if (rc < 0)
        return rc;
    axis->in = in;
    axis->out = out;
    axis->filter = filter;
    axis->taps = taps;
    memset(axis->weight, 0, (size_t)out * (size_t)taps * sizeof(*axis->weight));
    if (filter == CW_FILTER_NEAREST)
        put_nearest(axis);
    else
        for (int32_t o = 0; o < out; o++)
            put_window(axis, o, scale, support, stretch);
    axis->used = 0;
    for (int32_t o = 0; o < out; o++)
        axis->used = CW_MAX(axis->used, axis->n[o]);
    put_split(axis);
    put_all_digits(axis);
    return 0;
}
