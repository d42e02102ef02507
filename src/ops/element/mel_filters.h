/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular filters of mel spectrograms. */
#ifndef CW_OPS_ELEMENT_MEL_FILTERS_H
#define CW_OPS_ELEMENT_MEL_FILTERS_H

#include <stdbool.h>
#include "base/compiler.h"

enum cw_mel_scale { CW_MEL_HTK, CW_MEL_SLANEY };
/* names of the scales, for option tables; ends with NULL */
extern const char *const cw_mel_scale_names[];

#define CW_MEL_ROWS_MAX 32768

struct cw_mel_filters {
    size_t n, rows; /* filters, and frequencies of the spectrogram: 2 or more */
    int64_t sample_rate;
    double f_min, f_max; /* in Hz; f_min < f_max */
    enum cw_mel_scale scale;
    bool by_width; /* each is divided by half of its width in Hz */
};

/* Writes the weights as a matrix [n][rows], as torchaudio's melscale_fbanks has them (transposed). */
void cw_mel_filters_make(const struct cw_mel_filters *filters, float *matrix);

#endif
