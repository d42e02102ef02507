/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/mel_filters.h"

#include "ops/kernels/exact_math.h"

const char *const cw_mel_scale_names[] = {"htk", "slaney", NULL};

#define LN_10 2.302585092994045684

/* Slaney's scale is linear up to 1000 Hz, which are 15 mel, and logarithmic above: 27 mel are a factor of
 * 6.4. */
#define SLANEY_HZ (200.0 / 3)
#define SLANEY_LOG_HZ 1000.0
#define SLANEY_LOG_MEL (SLANEY_LOG_HZ / SLANEY_HZ)

static double slaney_step(void)
{
    return cw_exact_log(6.4) / 27;
}

static double to_mel(enum cw_mel_scale scale, double hz)
{
    if (scale == CW_MEL_HTK)
        return 2595 * (cw_exact_log(1 + hz / 700) / LN_10);
    if (hz < SLANEY_LOG_HZ)
        return hz / SLANEY_HZ;
    return SLANEY_LOG_MEL + cw_exact_log(hz / SLANEY_LOG_HZ) / slaney_step();
}

static double to_hz(enum cw_mel_scale scale, double mel)
{
    if (scale == CW_MEL_HTK)
        return 700 * (cw_exact_exp(mel / 2595 * LN_10) - 1);
    if (mel < SLANEY_LOG_MEL)
        return mel * SLANEY_HZ;
    return SLANEY_LOG_HZ * cw_exact_exp(slaney_step() * (mel - SLANEY_LOG_MEL));
}

/* Writes one filter: it rises from `low` to `middle` and falls to `high`. */
static void make_filter(const struct cw_mel_filters *filters, const double edge[3], float *row)
{
    const double low = edge[0], middle = edge[1], high = edge[2];
    const double factor = filters->by_width ? 2 / (high - low) : 1.0;
    const double step =
        (double)(filters->sample_rate / 2) / (double)(filters->rows - 1); /* Hz a row */
    for (size_t i = 0; i < filters->rows; i++) {
        const double hz = (double)i * step;
        const double up = (hz - low) / (middle - low), down = (high - hz) / (high - middle);
        const double weight = up < down ? up : down;
        row[i] = weight > 0 ? (float)(weight * factor) : 0.0f;
    }
}

void cw_mel_filters_make(const struct cw_mel_filters *filters, float *matrix)
{
    const double first = to_mel(filters->scale, filters->f_min),
                 last = to_mel(filters->scale, filters->f_max);
    const double step = (last - first) / (double)(filters->n + 1);
    for (size_t m = 0; m < filters->n; m++) {
        double edge[3];
        for (size_t k = 0; k < CW_ARRAY_LEN(edge); k++)
            edge[k] = to_hz(filters->scale, first + (double)(m + k) * step);
        make_filter(filters, edge, matrix + m * filters->rows);
    }
}
