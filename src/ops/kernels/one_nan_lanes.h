/* SPDX-License-Identifier: Apache-2.0 */
/* The loop over an array that may have NaNs, for both of its levels (kernels/lanes.h). */
#include "ops/kernels/lanes.h"
#include "ops/kernels/one_nan.h"

CW_LANES_TARGET void CW_LANES_NAME(cw_one_nan)(float *v, size_t n)
{
    size_t i = 0;
    for (; i + CW_LANES <= n; i += CW_LANES) {
        cw_lanes_f32 x;
        CW_LANES_LOAD(x, v + i);
        CW_LANES_STORE(v + i, CW_LANES_CHOOSE(x == x, x, CW_LANES_SET(NAN)));
    }
    for (; i < n; i++)
        v[i] = isnan(v[i]) ? NAN : v[i];
}
