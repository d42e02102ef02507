/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of short-time Fourier transforms. */
#include "ops/kernels/stft_lanes.h"
