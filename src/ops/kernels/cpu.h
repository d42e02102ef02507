/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions that kernels may use. Every kernel has a plain C version, which fits any
 * processor, and may have versions for more instructions that give the same bytes
 * (kernels/kernel_table.h). The level is chosen once, when it is first asked for, so one binary runs
 * on any x86-64. */
#ifndef CW_OPS_KERNELS_CPU_H
#define CW_OPS_KERNELS_CPU_H

#include "base/err.h"

/* Levels in ascending order: what a level has, those behind it have too. A level for other
 * instructions gets a line here, a name and a test in cpu.c, and a column in kernel_table.c; NEON
 * would be the second level of another architecture. */
enum cw_cpu_level {
    CW_CPU_LEVEL_PLAIN, /* what the compiler makes of C */
    CW_CPU_LEVEL_AVX2,  /* AVX2 and FMA */
    /* AVX-512 with dot products of bytes (VNNI), on vectors of 32 bytes */
    CW_CPU_LEVEL_AVX512,
    CW_CPU_LEVELS
};

#if defined(__x86_64__)
#define CW_CPU_X86 1
#define CW_CPU_AVX2 __attribute__((target("avx2")))
#define CW_CPU_AVX2_FMA __attribute__((target("avx2,fma")))
#define CW_CPU_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))
#else
#define CW_CPU_X86 0
#endif

/* The level that kernels use: the highest one that this machine can run, or that which the variable
 * CACHEW_CPU names, if it is lower. A value of it that names no level counts as plain, so that no
 * mistake in it chooses other bytes. */
enum cw_cpu_level cw_cpu_level(void);
/* The highest level that this machine can run, whatever CACHEW_CPU says. */
enum cw_cpu_level cw_cpu_best(void);
const char *cw_cpu_level_name(enum cw_cpu_level level);
/* INVALID if `text` names no level; NULL and "" ask for the highest. *ret_level is what it allows at
 * most. */
int cw_cpu_parse(const char *text, enum cw_cpu_level *ret_level, struct cw_err *err);
/* INVALID if CACHEW_CPU is set to something that names no level, for programs to say at their
 * start. */
int cw_cpu_check(struct cw_err *err);

#endif
