/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/fixed_values.h"

const char *const cw_fixed_dtypes[] = {"str", "u8",  "i8",  "u16", "i16", "u32", "i32",
                                       "u64", "i64", "f16", "f32", "f64", NULL};

enum cw_dtype cw_fixed_dtype(int word)
{
    enum cw_dtype dtype = CW_DTYPE_STR;
    if (word != CW_FIXED_STR)
        CW_ASSERT(cw_dtype_parse(cw_fixed_dtypes[word], &dtype) == 0);
    return dtype;
}

uint64_t cw_fixed_values(const struct cw_i64_list *dims)
{
    uint64_t n = 1;
    for (size_t i = 0; i < dims->n; i++) {
        if (__builtin_mul_overflow(n, (uint64_t)dims->v[i], &n) || n > UINT64_C(1) << 32)
            return 0;
    }
    return n;
}
