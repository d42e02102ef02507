/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of tensors whose values do not lie one after another. */
#ifndef CW_OPS_KERNELS_STRIDED_H
#define CW_OPS_KERNELS_STRIDED_H

#include "base/compiler.h"

/* Copies values of `bytes` (1, 2, 4 or 8) to dst, one after another, in the order of the last dim first.
 * steps: how far apart, in bytes, those are in src that follow each other along a dim. At least one
 * dim, and none is 0. */
void cw_strided_copy(void *dst, const void *src, size_t bytes, int rank, const int64_t *dims,
                     const ptrdiff_t *steps);

#endif
