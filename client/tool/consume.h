/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of delivered batches: `cachew run --json` prints them as "hash". Tests compare them, so
 * they must not change. */
#ifndef CW_CLIENT_TOOL_CONSUME_H
#define CW_CLIENT_TOOL_CONSUME_H

#include <stdbool.h>

#include "base/hash.h"
#include "cachew/cachew.h"

/* Returns the digest of a batch: of the names, dtypes, shapes and bytes of its tensors. */
struct cw_hash tool_batch_digest(struct cw_hasher *hasher, const struct cachew_batch *batch);

struct tool_epoch_sum {
    uint64_t epoch, batches, elements, bytes;
    bool unordered;
    struct cw_hasher *hasher; /* Ordered jobs: it hashes the digests of the batches. */
    struct cw_hash sum;       /* Unordered jobs: the 128-bit sum of the digests. */
    struct cw_hasher *one;    /* This hasher computes the digest of one batch. */
};
void tool_epoch_sum_init(struct tool_epoch_sum *sum, bool unordered);
void tool_epoch_sum_fini(struct tool_epoch_sum *sum);
void tool_epoch_sum_begin(struct tool_epoch_sum *sum, uint64_t epoch);
/* Counts a batch. With `hash` it also adds the batch's digest, and returns it. */
struct cw_hash tool_epoch_sum_add(struct tool_epoch_sum *sum, const struct cachew_batch *batch,
                                  bool hash);
struct cw_hash tool_epoch_sum_get(const struct tool_epoch_sum *sum);

#endif
