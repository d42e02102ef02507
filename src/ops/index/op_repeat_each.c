/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `repeat_each`: gives each element `count` times in a row. The number of the repetition is
 * part of the element's random streams, but of no order: a shuffle before it goes on as if nothing were
 * repeated, or the repetitions would be other elements. */
#include "ops/op_util.h"

struct repeat_each_opts {
    int64_t count;
};

static const struct cw_opt options[] = {
    {.name = "count",
     .help = "how many times each element comes",
     .type = CW_OPT_I64,
     .offset = offsetof(struct repeat_each_opts, count),
     .min = 1,
     .max = 0x1p31,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    const struct repeat_each_opts *o = opts;
    int64_t n;
    (void)state;
    (void)inputs_n;
    if (__builtin_mul_overflow(in_n[0], o->count, &n))
        return cw_err_set(err, CW_E_LIMIT,
                          "option count: %lld times %lld elements is more than 2^63 - 1",
                          (long long)o->count, (long long)in_n[0]);
    *ret_n = n;
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    const struct repeat_each_opts *o = opts;
    (void)state;
    (void)ret_input;
    /* With nested ones each combination of repetitions has a number of its own. */
    at->each = at->each * (uint64_t)o->count + (uint64_t)(pos % o->count);
    return pos / o->count;
}

const struct cw_op cw_op_repeat_each = {
    .name = "repeat_each",
    .version = 1,
    .summary = "each element several times in a row",
    .doc = "Gives each element `count` times in a row: repeated augmentation. Random operators "
           "before and behind it\n"
           "draw anew each time; the first time they draw as they would without it. A `shuffle` "
           "before it is not\n"
           "repeated, so the repetitions are of the same element.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_AGAIN | CW_OP_IN_ORDER,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct repeat_each_opts),
    .infer = cw_op_infer_same,
    .count = count,
    .map = map,
};
