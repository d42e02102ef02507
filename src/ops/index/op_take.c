/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `take`: takes the first `count` elements. */
#include "ops/op_util.h"

struct take_opts {
    int64_t count;
};

static const struct cw_opt options[] = {
    {.name = "count",
     .help = "elements to keep",
     .type = CW_OPT_I64,
     .offset = offsetof(struct take_opts, count),
     .min = 0,
     .max = 0x1p62,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct take_opts *o = opts;
    (void)state;
    (void)inputs_n;
    (void)err;
    *ret_n = CW_MIN(o->count, in_n[0]);
    return 0;
}

const struct cw_op cw_op_take = {
    .name = "take",
    .version = 1,
    .summary = "the first elements only",
    .doc = "Keeps the first `count` elements, or all when there are fewer.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_AFFINE | CW_OP_IN_ORDER,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct take_opts),
    .infer = cw_op_infer_same,
    .count = count,
    .map = cw_op_map_same,
};
