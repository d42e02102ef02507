/* SPDX-License-Identifier: Apache-2.0 */
/* Bands out of a matrix of weights. */
#include "ops/kernels/bands.h"

#include "base/mem.h"
#include "ops/kernels/kernel_table.h"

/* No NaN is in a matrix, so what is neither above nor below 0 is 0. */
static bool is_zero(float v)
{
    return !(v > 0) && !(v < 0);
}

void cw_bands_init(struct cw_bands *bands, size_t n, size_t rows, const float *matrix)
{
    *bands = (struct cw_bands){.n = n, .rows = rows};
    bands->bands = CW_NEW_ARRAY(struct cw_band, n);
    bands->weights = cw_mem_dup(matrix, n * rows * sizeof(*matrix));
    for (size_t i = 0; i < n; i++) {
        const float *row = bands->weights + i * rows;
        size_t first = 0, end = rows;
        while (end > 0 && is_zero(row[end - 1]))
            end--;
        while (first < end && is_zero(row[first]))
            first++;
        bands->bands[i] =
            (struct cw_band){.first = first, .n = end - first, .weights = row + first};
    }
}

void cw_bands_fini(struct cw_bands *bands)
{
    cw_mem_free(bands->bands);
    cw_mem_free(bands->weights);
    *bands = (struct cw_bands){0};
}

void cw_bands_run(const struct cw_bands_job *job)
{
    cw_kernels()->bands_run(job);
}
