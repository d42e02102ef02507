/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the level, once a process. Any thread comes here; two that are the first at once
 * find the same. */
#include "ops/kernels/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[CW_CPU_LEVELS] = {"plain", "avx2", "avx512"};

/* the level that was chosen, and 1; 0: not yet */
static atomic_int chosen;

enum cw_cpu_level cw_cpu_best(void)
{
#if CW_CPU_X86
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
        return CW_CPU_LEVEL_AVX512;
    if (avx2)
        return CW_CPU_LEVEL_AVX2;
#endif
    return CW_CPU_LEVEL_PLAIN;
}

const char *cw_cpu_level_name(enum cw_cpu_level level)
{
    return names[level];
}

int cw_cpu_parse(const char *text, enum cw_cpu_level *ret_level, struct cw_err *err)
{
    *ret_level = (enum cw_cpu_level)(CW_CPU_LEVELS - 1);
    if (!text || !*text)
        return 0;
    for (int i = 0; i < CW_CPU_LEVELS; i++)
        if (strcmp(text, names[i]) == 0) {
            *ret_level = (enum cw_cpu_level)i;
            return 0;
        }
    *ret_level = CW_CPU_LEVEL_PLAIN;
    return cw_err_set(err, CW_E_INVALID, "CACHEW_CPU: \"%s\" is none of plain, avx2, avx512", text);
}

int cw_cpu_check(struct cw_err *err)
{
    enum cw_cpu_level most;
    return cw_cpu_parse(getenv("CACHEW_CPU"), &most, err);
}

enum cw_cpu_level cw_cpu_level(void)
{
    const int known = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (CW_LIKELY(known))
        return (enum cw_cpu_level)(known - 1);
    enum cw_cpu_level most, best = cw_cpu_best();
    (void)cw_cpu_parse(getenv("CACHEW_CPU"), &most, NULL);
    const enum cw_cpu_level level = most < best ? most : best;
    atomic_store_explicit(&chosen, (int)level + 1, memory_order_relaxed);
    return level;
}
