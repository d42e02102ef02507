/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks in which elements lie one after another: row groups, stretches of compressed files, files. What
 * is read or inflated for one element of a block serves the others (docs/decisions/0007-blocks.md). */
#ifndef CW_OPS_BLOCKS_H
#define CW_OPS_BLOCKS_H

#include <stdint.h>

#include "base/err.h"
#include "conf/value.h"

/* Where there are more, neighbours are joined: the manifest of a job says all of them. */
#define CW_BLOCKS_MAX ((size_t)1 << 16)

/* Block i has the positions from begins[i] on, the last one those below `end`. None is empty. Memory may be
 * zeroed: no elements. */
struct cw_blocks {
    int64_t *begins;
    size_t n, cap;
    int64_t end;
    int64_t last;       /* where the last one begins that was added */
    size_t added, step; /* how many were, and of how many each stands for all; 0: 1 */
};
void cw_blocks_fini(struct cw_blocks *blocks);
/* Adds a block that begins at a position, not before the last one; one that begins where another does is the
 * same. */
void cw_blocks_add(struct cw_blocks *blocks, int64_t begin);
/* Sets the end, once all are added: what begins there or behind it is left out. Joins neighbours until there
 * are no more than CW_BLOCKS_MAX. */
void cw_blocks_finish(struct cw_blocks *blocks, int64_t end);
/* The number of elements of block i. */
int64_t cw_blocks_length(const struct cw_blocks *blocks, size_t i);
/* Writes them into a manifest, which is an object, and reads them there. INVALID: it says no blocks. */
void cw_blocks_write(const struct cw_blocks *blocks, struct cw_value *manifest);
int cw_blocks_read(const struct cw_value *manifest, struct cw_blocks *ret_blocks,
                   struct cw_err *err);

#endif
