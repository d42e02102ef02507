/* SPDX-License-Identifier: Apache-2.0 */
/* The plain version of changes of the sample rate. */
#include "ops/kernels/sinc_lanes.h"
