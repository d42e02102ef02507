/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of files whose records have bytes of their own: stretches of compressed files, or so many bytes. */
#ifndef CW_OPS_SOURCE_LINE_BLOCKS_H
#define CW_OPS_SOURCE_LINE_BLOCKS_H

#include "format/access_points.h"
#include "format/line_index.h"
#include "format/webdataset.h"
#include "ops/blocks.h"

/* What lies between two such places of a file that is not compressed is a block: some blocks of the source
 * cache, which are read at once. */
#define CW_PLAIN_BLOCK_BYTES ((uint64_t)4 << 20)

/* Adds where a block begins: the first record of each stretch, of a file whose first one has position `first`.
 * points: NULL: the file is not compressed. */
void cw_line_blocks(const struct cw_line_index *index, const struct cw_access_points *points,
                    int64_t first, struct cw_blocks *blocks);
/* The same of samples of a tar file. Those of one that is not compressed are read by themselves, so it is one
 * block. */
void cw_sample_blocks(const struct cw_wds_index *index, const struct cw_access_points *points,
                      size_t fields_n, int64_t first, struct cw_blocks *blocks);
/* The same of n records, of which the first begins at `offset`, and each `step` bytes behind the one before. */
void cw_fixed_blocks(const struct cw_access_points *points, uint64_t offset, uint64_t step,
                     uint64_t n, int64_t first, struct cw_blocks *blocks);

#endif
