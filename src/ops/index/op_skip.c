/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `skip`: leaves out the first `count` elements. */
#include "ops/op_util.h"

struct skip_opts {
    int64_t count;
};

static const struct cw_opt options[] = {
    {.name = "count",
     .help = "elements to leave out",
     .type = CW_OPT_I64,
     .offset = offsetof(struct skip_opts, count),
     .min = 0,
     .max = 0x1p62,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct skip_opts *o = opts;
    (void)state;
    (void)inputs_n;
    (void)err;
    *ret_n = CW_MAX(in_n[0] - o->count, 0);
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct skip_opts *o = opts;
    (void)state;
    (void)at;
    (void)ret_input;
    return pos + o->count;
}

const struct cw_op cw_op_skip = {
    .name = "skip",
    .version = 1,
    .summary = "all but the first elements",
    .doc =
        "Leaves out the first `count` elements; nothing is left when there are no more than that.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_AFFINE | CW_OP_IN_ORDER,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct skip_opts),
    .infer = cw_op_infer_same,
    .count = count,
    .map = map,
};
