/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/kernels/strided.h"

#include <string.h>

#include "data/spec.h"

static void copy_line(uint8_t *dst, const uint8_t *src, size_t n, ptrdiff_t step, size_t bytes)
{
    if (step == (ptrdiff_t)bytes) {
        memcpy(dst, src, n * bytes);
        return;
    }
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < n; i++, src += step)
            dst[i] = *src;
        break;
    case 2:
        for (size_t i = 0; i < n; i++, src += step)
            memcpy(dst + 2 * i, src, 2);
        break;
    case 4:
        for (size_t i = 0; i < n; i++, src += step)
            memcpy(dst + 4 * i, src, 4);
        break;
    default:
        for (size_t i = 0; i < n; i++, src += step)
            memcpy(dst + 8 * i, src, 8);
    }
}

/* Goes through the lines of the last dim as an odometer. */
void cw_strided_copy(void *dst_arg, const void *src_arg, size_t bytes, int rank,
                     const int64_t *dims, const ptrdiff_t *steps)
{
    const int last = rank - 1;
    const size_t n = (size_t)dims[last];
    int64_t at[CW_RANK_MAX] = {0};
    const uint8_t *src = src_arg;
    uint8_t *dst = dst_arg;
    for (int i = last; i >= 0; dst += n * bytes) {
        copy_line(dst, src, n, steps[last], bytes);
        for (i = last - 1; i >= 0 && ++at[i] == dims[i]; i--) {
            src -= (at[i] - 1) * steps[i];
            at[i] = 0;
        }
        if (i >= 0)
            src += steps[i];
    }
}
