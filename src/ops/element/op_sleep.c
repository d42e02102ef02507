/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `sleep`: waits. It stands for slow input in tests. */
#include "ops/op_util.h"

struct sleep_opts {
    double ms;
};

static const struct cw_opt options[] = {
    {.name = "ms",
     .help = "milliseconds to wait for each element",
     .type = CW_OPT_F64,
     .offset = offsetof(struct sleep_opts, ms),
     .min = 0,
     .max = 60e3,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct sleep_opts *o = opts;
    (void)state;
    (void)scratch;
    (void)element;
    return cw_stop_sleep_ns(ctx->stop, (int64_t)(o->ms * 1e6), err);
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    (void)fields;
    (void)fields_n;
    cw_facts_of_nothing(ret_facts);
}

const struct cw_op cw_op_sleep = {
    .name = "sleep",
    .version = 1,
    .summary = "waits for each element (for tests)",
    .doc = "Does nothing to the data and takes `ms` milliseconds of time, but no CPU, for each "
           "element. It\n"
           "holds one thread of the worker while it waits, at most as long as its job is there.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct sleep_opts),
    .infer = cw_op_infer_same,
    .apply = apply,
    .facts = facts,
};
