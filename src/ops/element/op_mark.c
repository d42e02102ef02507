/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `mark`: marks a place at which elements may be cached. It does not change
 * elements. */
#include "ops/element/cache_opts.h"

static const struct cw_opt options[] = {
    CW_CACHE_FREEZE_ROW,
    {0},
};

const struct cw_op cw_op_mark = {
    .name = "mark",
    .version = 1,
    .summary = "a place where the dispatcher may put a cache",
    .doc = "Does nothing to the elements. It gives this place a name, the node's `name`, which "
           "must be given: reports and\n"
           "options call it by that. The dispatcher decides by measurement whether elements are "
           "cached here or at another\n"
           "node. `freeze` is as in `cache`: it allows a cache behind random operators, and fixes "
           "what they draw, whether or\n"
           "not anything is cached.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_MARK,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cw_cache_opts),
    .infer = cw_op_infer_same,
    .apply = cw_op_apply_same,
};
