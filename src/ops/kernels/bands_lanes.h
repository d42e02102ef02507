/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of bands.h (kernels/lanes.h). */
#include "ops/kernels/bands.h"
#include "ops/kernels/lanes.h"

/* vectors of columns whose sums stay in registers */
#define WIDE 4

CW_LANES_FN void sum_columns(const struct cw_band *band, const float *src, float *dst,
                             size_t columns, size_t vectors)
{
    cw_lanes_f32 sum[WIDE] = {{0}, {0}, {0}, {0}}, v;
    for (size_t i = 0; i < band->n; i++) {
        const cw_lanes_f32 weight = CW_LANES_SET(band->weights[i]);
        CW_LANES_UNROLL
        for (size_t k = 0; k < vectors; k++) {
            CW_LANES_LOAD(v, src + i * columns + k * CW_LANES);
            sum[k] += v * weight;
        }
    }
    CW_LANES_UNROLL
    for (size_t k = 0; k < vectors; k++)
        CW_LANES_STORE(dst + k * CW_LANES, sum[k]);
}

CW_LANES_FN void sum_column(const struct cw_band *band, const float *src, float *dst,
                            size_t columns)
{
    float sum = 0;
    for (size_t i = 0; i < band->n; i++)
        sum += src[i * columns] * band->weights[i];
    *dst = sum;
}

CW_LANES_TARGET void CW_LANES_NAME(cw_bands_run)(const struct cw_bands_job *job)
{
    const size_t columns = job->columns;
    size_t done = 0;
    for (size_t step; done < columns; done += step) {
        const size_t left = columns - done;
        step = left >= WIDE * CW_LANES ? WIDE * CW_LANES : left >= CW_LANES ? CW_LANES : 1;
        for (size_t b = 0; b < job->bands->n; b++) {
            const struct cw_band *band = &job->bands->bands[b];
            const float *src = job->src + band->first * columns + done;
            float *dst = job->dst + b * columns + done;
            if (step > CW_LANES)
                sum_columns(band, src, dst, columns, WIDE);
            else if (step > 1)
                sum_columns(band, src, dst, columns, 1);
            else
                sum_column(band, src, dst, columns);
        }
    }
}
