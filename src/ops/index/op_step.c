/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `step`: every n-th element. */
#include "ops/op_util.h"

struct step_opts {
    int64_t every, offset;
};

#define OFFSET(member) offsetof(struct step_opts, member)
static const struct cw_opt options[] = {
    {.name = "every",
     .help = "keep one element of so many",
     .type = CW_OPT_I64,
     .offset = OFFSET(every),
     .min = 1,
     .max = 0x1p31,
     .flags = CW_OPT_REQUIRED},
    {.name = "offset",
     .help = "position of the first one that is kept",
     .type = CW_OPT_I64,
     .offset = OFFSET(offset),
     .def = "0",
     .min = 0,
     .max = 0x1p60},
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct step_opts *o = opts;
    (void)state;
    (void)inputs_n;
    (void)err;
    *ret_n = in_n[0] > o->offset ? (in_n[0] - o->offset - 1) / o->every + 1 : 0;
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct step_opts *o = opts;
    (void)state;
    (void)at;
    (void)ret_input;
    return pos * o->every + o->offset;
}

const struct cw_op cw_op_step = {
    .name = "step",
    .version = 1,
    .summary = "every n-th element",
    .doc =
        "Keeps the elements at the positions offset, offset + every, offset + 2 every and so on. "
        "To split data\n"
        "into parts that share nothing, use `shard`.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_AFFINE | CW_OP_IN_ORDER,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct step_opts),
    .infer = cw_op_infer_same,
    .count = count,
    .map = map,
};
