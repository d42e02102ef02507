/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of kernels share, and those that stand in a file of their own. */
#ifndef CW_UNIT_OPS_CHECK_KERNELS_H
#define CW_UNIT_OPS_CHECK_KERNELS_H

#include "base/rng.h"
#include "ops/kernels/kernel_table.h"

struct random {
    struct cw_rng rng;
    uint32_t draws;
};

static inline size_t below(struct random *random, size_t n)
{
    return (size_t)cw_rng_below(&random->rng, random->draws++, n);
}

/* Compares the two ways from one random input. */
typedef void check_fn(const struct cw_kernels *plain, const struct cw_kernels *level,
                      struct random *random);

/* check_tables.c */
check_fn check_column_bucket, check_column_clip, check_column_fill, check_column_scale;
check_fn check_expr_arith, check_expr_load, check_expr_log, check_expr_round, check_expr_store;

#endif
