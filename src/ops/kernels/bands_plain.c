/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of weighted sums of rows. */
#define CW_LANES_TARGET
#define CW_LANES_NAME(name) name##_plain
#include "ops/kernels/bands_lanes.h"
