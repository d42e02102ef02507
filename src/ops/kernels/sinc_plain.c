/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of changes of the sample rate. */
#define CW_LANES_TARGET
#define CW_LANES_NAME(name) name##_plain
#include "ops/kernels/sinc_lanes.h"
