/* SPDX-License-Identifier: Apache-2.0 */
/* Waveforms at another sample rate, by a windowed sinc, as torchaudio.functional.resample has it. For
 * each of the places that an output sample may have between two input samples there is a filter;
 * weights beyond the window are left out. */
#ifndef CW_OPS_KERNELS_SINC_H
#define CW_OPS_KERNELS_SINC_H

#include "base/err.h"

enum cw_sinc_window { CW_SINC_HANN, CW_SINC_KAISER };
/* names of the windows, for option tables; ends with NULL */
extern const char *const cw_sinc_window_names[];

struct cw_sinc_design {
    int64_t from, to; /* samples a second, > 0 */
    int64_t width;    /* lowpass_filter_width of torchaudio: zero crossings on each side, > 0 */
    double rolloff;   /* cut-off, as a part of the lower Nyquist frequency; > 0 */
    enum cw_sinc_window window;
    double beta; /* of the Kaiser window */
};

/* Immutable once made. */
struct cw_sinc {
    size_t from, to; /* rates without their common divisor */
    size_t before,
        taps; /* samples that are read before the first one; weights of a filter, in whole vectors */
    size_t *first;  /* [to]: the first sample of a filter */
    float *weights; /* [to][taps] */
};

/* Makes the filters. INVALID if there were too many weights. */
int cw_sinc_init(struct cw_sinc *sinc, const struct cw_sinc_design *design, struct cw_err *err);
void cw_sinc_fini(struct cw_sinc *sinc);
/* How many samples n become: n x to / from, rounded up; -1 if that is too many. */
int64_t cw_sinc_length(const struct cw_sinc *sinc, int64_t n);
/* How many samples cw_sinc_run may read of x: `before` zeros, n samples, zeros. */
size_t cw_sinc_padded(const struct cw_sinc *sinc, size_t n);

struct cw_sinc_job {
    const struct cw_sinc *sinc;
    const float *x; /* cw_sinc_padded() samples */
    float *dst;
    size_t n, step; /* output samples, and how far apart they are in dst */
};
void cw_sinc_run(const struct cw_sinc_job *job);
/* the kernel sinc_run */
void cw_sinc_run_plain(const struct cw_sinc_job *job);
void cw_sinc_run_avx2(const struct cw_sinc_job *job);

#endif
