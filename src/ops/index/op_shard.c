/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `shard`: takes every num_shards-th element, beginning with element `index`. */
#include "ops/op_util.h"

struct shard_opts {
    int64_t num_shards, index;
};

#define OFFSET(member) offsetof(struct shard_opts, member)
static const struct cw_opt options[] = {
    {.name = "num_shards",
     .help = "how many shards there are",
     .type = CW_OPT_I64,
     .offset = OFFSET(num_shards),
     .min = 1,
     .max = 0x1p31,
     .flags = CW_OPT_REQUIRED},
    {.name = "index",
     .help = "which shard, from 0",
     .type = CW_OPT_I64,
     .offset = OFFSET(index),
     .min = 0,
     .max = 0x1p31,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct shard_opts *o = opts;
    if (o->index >= o->num_shards)
        return cw_err_set(err, CW_E_INVALID, "option index: %lld is not below num_shards (%lld)",
                          (long long)o->index, (long long)o->num_shards);
    return 0;
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct shard_opts *o = opts;
    (void)state;
    (void)inputs_n;
    (void)err;
    *ret_n = in_n[0] > o->index ? (in_n[0] - o->index - 1) / o->num_shards + 1 : 0;
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct shard_opts *o = opts;
    (void)state;
    (void)at;
    (void)ret_input;
    return pos * o->num_shards + o->index;
}

const struct cw_op cw_op_shard = {
    .name = "shard",
    .version = 1,
    .summary = "every n-th element",
    .doc = "Splits what comes in into num_shards parts that share nothing and keeps part `index`:\n"
           "elements index, index + num_shards, index + 2 num_shards and so on.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_AFFINE | CW_OP_IN_ORDER,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct shard_opts),
    .check = check,
    .infer = cw_op_infer_same,
    .count = count,
    .map = map,
};
