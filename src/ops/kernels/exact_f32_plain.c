/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of exp and log of arrays. */
#define CW_LANES_TARGET
#define CW_LANES_NAME(name) name##_plain
#include "ops/kernels/exact_f32_lanes.h"
