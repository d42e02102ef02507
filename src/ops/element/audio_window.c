/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/element/audio_window.h"

#include "ops/kernels/exact_math.h"

#define PI 3.14159265358979323846

const char *const cw_window_names[] = {"hann", "hamming", "rectangular", NULL};

/* A window is a - (1 - a) cos(2 pi i / n). */
static const double constant[CW_WINDOWS] = {
    [CW_WINDOW_HANN] = 0.5, [CW_WINDOW_HAMMING] = 0.54, [CW_WINDOW_RECTANGULAR] = 1.0};

void cw_window_make(enum cw_window window, size_t n, float *dst)
{
    const double a = constant[window];
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(a - (1 - a) * cw_exact_cos(2 * PI * (double)i / (double)n));
}
