/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of weighted sums of rows. */
#include "ops/kernels/bands_lanes.h"
