/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of short-time Fourier transforms. */
#define CW_LANES_TARGET
#define CW_LANES_NAME(name) name##_plain
#include "ops/kernels/stft_lanes.h"
