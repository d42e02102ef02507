/* SPDX-License-Identifier: Apache-2.0 */
/* The order of `shuffle` by blocks: the blocks of an epoch permuted, and elements inside of windows of whole
 * blocks. The order of an epoch's blocks is made when a thread first asks for it, in 12 bytes a block, and a
 * few are kept; a position is then found by halving. It depends on nothing but the blocks, the options, and
 * what struct cw_at says. Any thread. */
#ifndef CW_OPS_INDEX_BLOCK_ORDER_H
#define CW_OPS_INDEX_BLOCK_ORDER_H

#include "ops/blocks.h"
#include "ops/op.h"

/* Blocks of a window where no number of elements is given. */
#define CW_BLOCKS_OF_WINDOW 16

struct cw_block_orders;
/* window: how many elements a window has at least; 0: it has CW_BLOCKS_OF_WINDOW blocks. Takes the blocks. */
struct cw_block_orders *cw_block_orders_new(struct cw_blocks *blocks, int64_t window);
void cw_block_orders_free(struct cw_block_orders *orders); /* accepts NULL */
const struct cw_blocks *cw_block_orders_blocks(const struct cw_block_orders *orders);
/* Maps n positions in place. seed: that of at, or one of the operator's own. */
void cw_block_orders_map(struct cw_block_orders *orders, const struct cw_at *at, uint64_t seed,
                         int64_t *pos, size_t n);

#endif
