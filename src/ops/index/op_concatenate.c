/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `concatenate`: all elements of its inputs, one input after the other. */
#include "ops/index/choose.h"

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    int64_t n = 0;
    (void)opts;
    (void)state;
    for (size_t i = 0; i < inputs_n; i++)
        if (__builtin_add_overflow(n, in_n[i], &n))
            return cw_err_set(err, CW_E_LIMIT, "the inputs have more than 2^63 - 1 elements");
    *ret_n = n;
    return 0;
}

static int64_t map(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input)
{
    size_t input = 0;
    (void)opts;
    (void)state;
    while (pos >= at->in_n[input])
        pos -= at->in_n[input++];
    *ret_input = input;
    return pos;
}

const struct cw_op cw_op_concatenate = {
    .name = "concatenate",
    .version = 1,
    .summary = "several inputs one after the other",
    .doc = "Gives all elements of the first input, then all of the second, and so on. A `shuffle` "
           "behind it is over all of them.\n" CW_CHOOSE_DOC,
    .kind = CW_OP_INDEX,
    .traits = CW_OP_IN_ORDER,
    .inputs_min = 2,
    .inputs_max = CW_CHOOSE_INPUTS_MAX,
    .infer = cw_choose_infer,
    .count = count,
    .map = map,
};
