/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of short-time Fourier transforms. */
#ifndef CW_OPS_ELEMENT_AUDIO_WINDOW_H
#define CW_OPS_ELEMENT_AUDIO_WINDOW_H

#include "base/compiler.h"

enum cw_window { CW_WINDOW_HANN, CW_WINDOW_HAMMING, CW_WINDOW_RECTANGULAR, CW_WINDOWS };
/* names of the windows, for option tables; ends with NULL */
extern const char *const cw_window_names[];

/* Writes a window of n samples as torch has it: one period of a function that goes on. */
void cw_window_make(enum cw_window window, size_t n, float *dst);

#endif
