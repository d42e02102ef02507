/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `cache`: marks a place at which elements are cached. It does not change
 * elements. */
#include "ops/element/cache_opts.h"

static const struct cw_opt options[] = {
    CW_CACHE_FREEZE_ROW,
    {0},
};

const struct cw_op cw_op_cache = {
    .name = "cache",
    .version = 1,
    .summary = "keeps what comes in, in the cache",
    .doc = "Keeps each element that comes in, and takes it from the cache when it is needed again, "
           "if the cluster has a\n"
           "cache. What comes out is the same with and without one. Elements must be functions of "
           "their ids, so it cannot\n"
           "stand behind a random operator, unless `freeze` is set: then all random operators "
           "before it draw what they\n"
           "draw in the first epoch, in every epoch and repetition, cached or not. shuffle, take, "
           "skip, shard and repeat\n"
           "do not matter, before or behind it. An operator `mark` leaves it to the dispatcher "
           "whether to cache.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_CACHE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cw_cache_opts),
    .infer = cw_op_infer_same,
    .apply = cw_op_apply_same,
};
