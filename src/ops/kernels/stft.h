/* SPDX-License-Identifier: Apache-2.0 */
/* Short-time Fourier transforms of f32, eight frames at a time: the frames stand side by side in
 * lanes (kernels/lanes.h), and each lane does what a plain loop would do. So all levels give the same
 * bits. A frame of an even number of samples is transformed as half as many complex ones (Stockham's
 * autosort algorithm with radices 4, 2, 3 and 5). */
#ifndef CW_OPS_KERNELS_STFT_H
#define CW_OPS_KERNELS_STFT_H

#include <stdbool.h>
#include "base/compiler.h"

#define CW_STFT_LANES 8
#define CW_STFT_PASSES_MAX 16
#define CW_STFT_N_MAX 32768

/* What becomes of a coefficient. */
enum cw_stft_form {
    CW_STFT_COMPLEX,   /* real and imaginary part, side by side */
    CW_STFT_MAGNITUDE, /* its absolute value */
    CW_STFT_POWER,     /* the square of that */
};

/* Tables for one size; immutable once made. */
struct cw_stft {
    size_t n;       /* samples of a frame: 2^a 3^b 5^c */
    size_t complex; /* size of the complex transform: n / 2, or n if that is odd */
    size_t passes;
    int radix[CW_STFT_PASSES_MAX];
    float *twiddles; /* of the passes, in the order in which they are used: pairs */
    float *unpack;   /* of the step from half as many complex numbers to real ones: pairs */
    float *window;   /* [n], with the factor of the normalization in it */
};

/* One block of frames. */
struct cw_stft_job {
    const struct cw_stft *stft;
    /* The first frame; frame t begins at x + t * hop. All CW_STFT_LANES of them may be read. */
    const float *x;
    size_t hop;
    size_t frames; /* how many of them are wanted: 1 to CW_STFT_LANES */
    enum cw_stft_form form;
    float *dst; /* coefficient k of frame t goes to dst[k * row + t], twice as far if complex */
    size_t row;
    float *work; /* cw_stft_work_floats(), for one thread */
};

/* Whether transforms of n samples are possible: 2^a 3^b 5^c, at most CW_STFT_N_MAX. */
bool cw_stft_can(size_t n);
/* Makes the tables; n as cw_stft_can says. The window is copied. */
void cw_stft_init(struct cw_stft *stft, size_t n, const float *window);
void cw_stft_fini(struct cw_stft *stft);
size_t cw_stft_work_floats(const struct cw_stft *stft);
/* The number of coefficients of a frame: n / 2 + 1. */
static inline size_t cw_stft_rows(const struct cw_stft *stft)
{
    return stft->n / 2 + 1;
}
void cw_stft_block(const struct cw_stft_job *job);
/* the kernel stft_block */
void cw_stft_block_plain(const struct cw_stft_job *job);
void cw_stft_block_avx2(const struct cw_stft_job *job);

#endif
