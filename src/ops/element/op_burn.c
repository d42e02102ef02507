/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `burn`: uses CPU time. It stands for real work in tests. */
#include "ops/op_util.h"

#include "base/clock.h"

struct burn_opts {
    double ms;
};

static const struct cw_opt options[] = {
    {.name = "ms",
     .help = "milliseconds of CPU time for each element",
     .type = CW_OPT_F64,
     .offset = offsetof(struct burn_opts, ms),
     .min = 0,
     .max = 60e3,
     .flags = CW_OPT_REQUIRED},
    {0},
};

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct burn_opts *o = opts;
    (void)state;
    (void)scratch;
    (void)element;
    int64_t end_ns = cw_clock_thread_cpu_ns() + (int64_t)(o->ms * 1e6);
    while (cw_clock_thread_cpu_ns() < end_ns && !cw_stop_is_set(ctx->stop))
        continue;
    return cw_stop_check(ctx->stop, err);
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

const struct cw_op cw_op_burn = {
    .name = "burn",
    .version = 1,
    .summary = "uses CPU time for each element (for tests)",
    .doc = "Does nothing to the data and uses `ms` milliseconds of the thread's CPU time for each "
           "element,\n"
           "at most as long as its job is there.",
    .kind = CW_OP_ELEMENT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct burn_opts),
    .infer = cw_op_infer_same,
    .apply = apply,
    .facts = facts,
};
