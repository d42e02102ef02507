/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `random_apply`: a chain of operators that works on some of the elements. */
#include "base/mem.h"
#include "ops/element/nested.h"
#include "ops/element/u8_op.h"

struct random_apply_opts {
    struct cw_value chain;
    double p;
};

static const struct cw_opt options[] = {
    {.name = "chain",
     .help = "the operators, as a pipeline has them: a list of objects with `op`, perhaps "
             "`fields`, and options",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct random_apply_opts, chain),
     .flags = CW_OPT_REQUIRED},
    CW_U8_P_ROW(offsetof(struct random_apply_opts, p), "0.5"),
    {0},
};

static int parse(const void *opts, struct cw_nested **ret_chain, struct cw_err *err)
{
    const struct random_apply_opts *o = opts;
    return cw_nested_new(&o->chain, "option chain", ret_chain, err);
}

static int check(const void *opts, struct cw_err *err)
{
    struct cw_nested *chain = NULL;
    const int rc = parse(opts, &chain, err);
    cw_nested_free(chain);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct random_apply_opts *o = opts;
    struct cw_nested *chain = NULL;
    CW_SPEC_AUTO out = {0};
    (void)in_n;
    int rc = parse(opts, &chain, err);
    if (rc == 0)
        rc = cw_nested_infer(chain, &in[0], &out, err);
    if (rc == 0 && o->p < 1)
        rc = cw_nested_join(&out, &in[0], "without the chain", err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&out);
    cw_nested_free(chain);
    return rc;
}

static int open_chain(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    struct cw_nested *chain = NULL;
    int rc = parse(opts, &chain, err);
    if (rc == 0)
        rc = cw_nested_open(chain, how, err);
    if (rc < 0)
        cw_nested_free(chain);
    else
        *ret_state = chain;
    return rc;
}

static void close_chain(void *state)
{
    cw_nested_free(state);
}

static void *scratch_new(const void *opts, void *state)
{
    (void)opts;
    return cw_nested_run_new(state);
}

static void scratch_free(void *scratch)
{
    cw_nested_run_free(scratch);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct random_apply_opts *o = opts;
    (void)state;
    return cw_u8_op_skips(ctx, o->p) ? 0 : cw_nested_apply(scratch, ctx, &ctx->rng, element, err);
}

static bool draws(const void *opts)
{
    const struct random_apply_opts *o = opts;
    struct cw_nested *chain = NULL;
    if (cw_u8_op_draws_p(o->p))
        return true;
    const bool yes = o->p > 0 && parse(opts, &chain, NULL) == 0 && cw_nested_draws(chain);
    cw_nested_free(chain);
    return yes;
}

static bool varies(const void *opts)
{
    struct cw_nested *chain = NULL;
    const bool yes = parse(opts, &chain, NULL) == 0 && cw_nested_varies(chain);
    cw_nested_free(chain);
    return yes;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    struct cw_nested *chain = NULL;
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){.known = parse(opts, &chain, NULL) == 0};
    if (chain)
        cw_nested_facts(chain, in, ret_facts);
    cw_nested_free(chain);
}

static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    const struct random_apply_opts *o = opts;
    struct cw_nested *chain = NULL;
    struct cw_value list = {0};
    (void)fields;
    (void)fields_n;
    cw_value_copy(&list, &o->chain);
    const bool can = parse(opts, &chain, NULL) == 0 && cw_nested_pin(chain, in, &list);
    cw_nested_free(chain);
    if (can)
        *cw_value_member(pinned, "chain") = list;
    else
        cw_value_fini(&list);
    return can;
}

const struct cw_op cw_op_random_apply = {
    .name = "random_apply",
    .version = 1,
    .summary = "a chain of operators that works on some of the elements",
    .doc = "Runs the operators of `chain` one after the other on an element, or none of them, as "
           "torchvision's RandomApply. What\n"
           "works on one element can stand in a chain, and does there what it does in a pipeline, "
           "moving boxes and masks and\n"
           "drawing included; but for filters, caches, plugins, and what reads files. Fields keep "
           "their names, types and ranks;\n"
           "a size that the chain changes is not known behind it.\n"
           "\n"
           "Draw 0 says, by `p`, whether the chain works on an element. Operator i of the chain, "
           "from 0, draws from a stream of its\n"
           "own: fork i of this operator's (pipelines.md, \"Randomness\").",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct random_apply_opts),
    .check = check,
    .infer = infer,
    .open = open_chain,
    .close = close_chain,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply = apply,
    .facts = facts,
    .draws = draws,
    .varies = varies,
    .pin = pin,
};
