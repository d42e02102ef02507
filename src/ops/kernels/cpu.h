/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which instructions this processor has. Every kernel has a plain C version and may have
 * an AVX2 version that gives the same bytes; the choice is made at run time, so one binary runs on
 * any x86-64. */
#ifndef CW_OPS_KERNELS_CPU_H
#define CW_OPS_KERNELS_CPU_H

#include <stdbool.h>

#if defined(__x86_64__)
#define CW_CPU_X86 1
#define CW_CPU_AVX2 __attribute__((target("avx2")))
#define CW_CPU_AVX2_FMA __attribute__((target("avx2,fma")))
static inline bool cw_cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}
static inline bool cw_cpu_has_avx2_fma(void)
{
    return cw_cpu_has_avx2() && __builtin_cpu_supports("fma") != 0;
}
#else
#define CW_CPU_X86 0
static inline bool cw_cpu_has_avx2(void)
{
    return false;
}
static inline bool cw_cpu_has_avx2_fma(void)
{
    return false;
}
#endif

#endif
