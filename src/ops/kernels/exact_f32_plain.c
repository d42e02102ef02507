/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of exp and log of arrays. */
#include "ops/kernels/exact_f32_lanes.h"
