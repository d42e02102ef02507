/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of delivered batches: what `cachew run --json` prints as "hash", the oracle of the
 * tests. */
#ifndef CW_TOOL_CONSUME_H
#define CW_TOOL_CONSUME_H

#include <stdbool.h>

#include "base/hash.h"
#include "cachew/cachew.h"

/* Of names, dtypes, shapes and bytes of a batch's tensors. */
struct cw_hash tool_batch_digest(struct cw_hasher *hasher, const struct cachew_batch *batch);

struct tool_epoch_sum {
    uint64_t epoch, batches, elements, bytes, skipped;
    bool unordered;
    struct cw_hasher *hasher; /* ordered: over the batches' digests */
    struct cw_hash sum;       /* unordered: their 128-bit sum */
    struct cw_hasher *one;    /* of one batch */
};
void tool_epoch_sum_init(struct tool_epoch_sum *sum, bool unordered);
void tool_epoch_sum_fini(struct tool_epoch_sum *sum);
void tool_epoch_sum_begin(struct tool_epoch_sum *sum, uint64_t epoch);
/* Counts a batch; with hash, digests names, dtypes, shapes and bytes of its tensors, and returns
 * the digest. */
struct cw_hash tool_epoch_sum_add(struct tool_epoch_sum *sum, const struct cachew_batch *batch,
                                  bool hash);
struct cw_hash tool_epoch_sum_get(const struct tool_epoch_sum *sum);

#endif
