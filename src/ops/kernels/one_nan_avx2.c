/* SPDX-License-Identifier: Apache-2.0 */
/* The AVX2 version of NaNs with one pattern of bits. */
#include "ops/kernels/cpu.h"

#if CW_CPU_X86
#define CW_LANES_TARGET CW_CPU_AVX2
#else
#define CW_LANES_TARGET
#endif
#define CW_LANES_NAME(name) name##_avx2
#include "ops/kernels/one_nan_lanes.h"
