/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of kernels share, and those that stand in a file of their own. */
#ifndef CW_UNIT_OPS_CHECK_KERNELS_H
#define CW_UNIT_OPS_CHECK_KERNELS_H

#include "support/cm.h"

#include <stdlib.h>
#include <string.h>
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

#define GUARD 64
#define BYTE_BESIDE 0xa5
/* Memory at a random address; an array has a block of its own, so that a sanitizer sees what is
 * read or written beside it, and bytes around it that must stay. */
struct block {
    uint8_t *memory, *at;
    size_t bytes;
};

static inline struct block block_new(struct random *random, size_t bytes, size_t align)
{
    const size_t shift = GUARD + align * below(random, GUARD / align);
    struct block block = {.bytes = bytes};
    block.memory = aligned_alloc(64, (shift + bytes + GUARD + 63) / 64 * 64);
    assert_non_null(block.memory);
    block.at = block.memory + shift;
    memset(block.memory, BYTE_BESIDE, shift + bytes + GUARD);
    return block;
}

static inline void block_free(struct block *block)
{
    for (size_t i = 1; i <= GUARD; i++)
        assert_int_equal(block->at[-(ptrdiff_t)i], BYTE_BESIDE);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(block->at[block->bytes + i], BYTE_BESIDE);
    free(block->memory);
}

/* Samples at a random address, with many at the ends of the range, where sums are clipped. They end
 * where their memory ends, so that a sanitizer sees what is read behind them. */
static inline struct block noise(struct random *random, size_t n)
{
    const size_t shift = below(random, GUARD);
    struct block block = {.memory = malloc(shift + n + 1), .bytes = n};
    assert_non_null(block.memory);
    block.at = block.memory + shift + 1;
    for (size_t i = 0; i < n; i++)
        block.at[i] = (uint8_t)(below(random, 3) ? below(random, 256) : (i / 7 % 2 ? 255 : 0));
    return block;
}

/* Compares the two ways from one random input. */
typedef void check_fn(const struct cw_kernels *plain, const struct cw_kernels *level,
                      struct random *random);

/* check_images.c */
check_fn check_blur_x, check_blur_y, check_grey, check_saturate, check_shift_hue;
/* check_tables.c */
check_fn check_column_bucket, check_column_clip, check_column_fill, check_column_scale;
check_fn check_expr_arith, check_expr_load, check_expr_log, check_expr_round, check_expr_store;

#endif
