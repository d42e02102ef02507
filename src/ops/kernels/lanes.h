/* SPDX-License-Identifier: Apache-2.0 */
/* Eight floats side by side, as gcc and clang have them for any processor. A loop over them is written once, in
 * a header that a _plain.c and an _avx2.c include: both do the same operations in the same order in
 * each lane, so their results are equal by construction. An _avx2.c defines before CW_LANES_TARGET (the
 * attribute of its functions) and CW_LANES_NAME (which puts the level behind a name). */
#ifndef CW_OPS_KERNELS_LANES_H
#define CW_OPS_KERNELS_LANES_H

#include <stdint.h>
#include <string.h>

#ifndef CW_LANES_NAME
#define CW_LANES_TARGET
#define CW_LANES_NAME(name) name##_plain
#endif

#define CW_LANES 8

typedef float cw_lanes_f32 __attribute__((vector_size(32)));
typedef int32_t cw_lanes_i32 __attribute__((vector_size(32)));

/* a function of a loop header, which becomes a part of the kernel that calls it */
#define CW_LANES_FN static inline CW_LANES_TARGET __attribute__((always_inline))

/* Before a loop over a few vectors, so that they stay in registers. */
#define CW_LANES_UNROLL _Pragma("GCC unroll 8")

/* Vectors are read and written at any address that a float may have. */
typedef float cw_lanes_any_f32 __attribute__((vector_size(32), aligned(4), may_alias));
#define CW_LANES_LOAD(v, at) ((v) = *(const cw_lanes_any_f32 *)(at))
#define CW_LANES_STORE(at, v) (*(cw_lanes_any_f32 *)(at) = (v))
#define CW_LANES_SET(x) ((cw_lanes_f32){(x), (x), (x), (x), (x), (x), (x), (x)})
/* mask ? a : b, lane by lane; a lane of a mask, which a comparison gives, is 0 or -1 */
#define CW_LANES_CHOOSE(mask, a, b)                                                                \
    ((cw_lanes_f32)(((mask) & (cw_lanes_i32)(a)) | (~(mask) & (cw_lanes_i32)(b))))

#endif
