/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of NaNs with one pattern of bits. */
#include "ops/kernels/one_nan_lanes.h"
