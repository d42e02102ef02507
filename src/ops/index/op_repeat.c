/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `repeat`: repeats all elements `count` times. The number of the repetition is part
 * of the key of every random stream upstream, so order and augmentation differ each time. */
#include "ops/op_util.h"

struct repeat_opts {
    int64_t count;
};

static const struct cw_opt options[] = {
    {.name = "count",
     .help = "how many times",
     .type = CW_OPT_I64,
     .offset = offsetof(struct repeat_opts, count),
     .min = 1,
     .max = 0x1p40,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct repeat_opts *o = opts;
    (void)state;
    (void)inputs_n;
    int64_t n;
    if (__builtin_mul_overflow(in_n[0], o->count, &n))
        return cw_err_set(err, CW_E_LIMIT,
                          "option count: %lld times %lld elements is more than 2^63 - 1",
                          (long long)o->count, (long long)in_n[0]);
    *ret_n = n;
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct repeat_opts *o = opts;
    (void)state;
    (void)ret_input;
    /* With nested repeats each combination of repetitions has a number of its own. */
    at->rep = at->rep * (uint64_t)o->count + (uint64_t)(pos / at->in_n[0]);
    return pos % at->in_n[0];
}

const struct cw_op cw_op_repeat = {
    .name = "repeat",
    .version = 1,
    .summary = "everything several times over",
    .doc = "Gives all elements `count` times. Random operators and shuffles before it draw anew "
           "each time.\n"
           "To go over the data without end, ask for more epochs instead.",
    .kind = CW_OP_INDEX,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct repeat_opts),
    .infer = cw_op_infer_same,
    .count = count,
    .map = map,
};
