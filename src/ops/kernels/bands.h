/* SPDX-License-Identifier: Apache-2.0 */
/* Weighted sums of the rows of a matrix, each over a band of neighbouring rows: the filters of a mel
 * spectrogram, a cosine transform. Sums go from the first row of the band to the last, for each
 * column by itself. */
#ifndef CW_OPS_KERNELS_BANDS_H
#define CW_OPS_KERNELS_BANDS_H

#include <stdbool.h>
#include "base/compiler.h"

/* Immutable once made. */
struct cw_bands {
    size_t n, rows; /* sums, and rows of the matrix */
    struct cw_band {
        size_t first, n; /* rows of the band; none gives 0 */
        const float *weights;
    } * bands;
    float *weights;
};

struct cw_bands_job {
    const struct cw_bands *bands;
    const float *src;
    float *dst; /* must not overlap src */
    size_t columns;
};

/* Makes bands out of a matrix [n][rows]: each from its first weight other than 0 to its last. */
void cw_bands_init(struct cw_bands *bands, size_t n, size_t rows, const float *matrix);
void cw_bands_fini(struct cw_bands *bands);
/* dst[n][columns] becomes the sums of src[rows][columns]. */
void cw_bands_run(const struct cw_bands_job *job);
/* the kernel bands_run */
void cw_bands_run_plain(const struct cw_bands_job *job);
void cw_bands_run_avx2(const struct cw_bands_job *job);

#endif
