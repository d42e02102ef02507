/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `random_choice`: one of several chains of operators works on an element. */
#include <stdio.h>
#include "base/mem.h"
#include "ops/element/nested.h"
#include "ops/element/u8_op.h"

#define DRAW_CHAIN 1

struct random_choice_opts {
    struct cw_value chains;
    struct cw_f64_list weights;
    double p;
};

static const struct cw_opt options[] = {
    {.name = "chains",
     .help = "the chains: lists of operators, as for random_apply",
     .type = CW_OPT_VALUE,
     .offset = offsetof(struct random_choice_opts, chains),
     .flags = CW_OPT_REQUIRED},
    CW_U8_P_ROW(offsetof(struct random_choice_opts, p), "1.0"),
    {.name = "weights",
     .help = "how often each chain is taken, in relation to the others; none = all alike",
     .type = CW_OPT_F64_LIST,
     .offset = offsetof(struct random_choice_opts, weights),
     .def = "[]",
     .min = 0,
     .max = 1e9,
     .len_max = CW_NESTED_MAX},
    {0},
};

/* All chains, and what one thread needs to run them. */
struct choice {
    size_t n;
    struct cw_nested *v[CW_NESTED_MAX];
};
struct choice_run {
    size_t n;
    struct cw_nested_run *v[CW_NESTED_MAX];
};

static void choice_free(void *state)
{
    struct choice *choice = state;
    for (size_t i = 0; choice && i < choice->n; i++)
        cw_nested_free(choice->v[i]);
    cw_mem_free(choice);
}

static int choice_new(const void *opts, struct choice **ret_choice, struct cw_err *err)
{
    const struct random_choice_opts *o = opts;
    const struct cw_value *list = &o->chains;
    if (list->type != CW_VALUE_LIST || list->n == 0 || list->n > CW_NESTED_MAX)
        return cw_err_set(err, CW_E_INVALID, "option chains: not a list of 1 to %d chains",
                          CW_NESTED_MAX);
    struct choice *choice = CW_NEW(struct choice);
    for (size_t i = 0; i < list->n; i++) {
        char where[48];
        snprintf(where, sizeof(where), "option chains: chain %zu", i + 1);
        const int rc = cw_nested_new(&list->items[i], where, &choice->v[i], err);
        if (rc < 0) {
            choice_free(choice);
            return rc;
        }
        choice->n++;
    }
    *ret_choice = choice;
    return 0;
}

static double sum_of(const struct cw_f64_list *weights)
{
    double sum = 0;
    for (size_t i = 0; i < weights->n; i++)
        sum += weights->v[i];
    return sum;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct random_choice_opts *o = opts;
    struct choice *choice = NULL;
    int rc = choice_new(opts, &choice, err);
    if (rc == 0 && o->weights.n > 0 && o->weights.n != choice->n)
        rc = cw_err_set(err, CW_E_INVALID, "option weights: %zu numbers for %zu chains",
                        o->weights.n, choice->n);
    if (rc == 0 && o->weights.n > 0 && !(sum_of(&o->weights) > 0))
        rc = cw_err_set(err, CW_E_INVALID, "option weights: all are 0");
    choice_free(choice);
    return rc;
}

static int infer_all(const struct choice *choice, const struct cw_spec *in,
                     struct cw_spec *ret_spec, struct cw_err *err)
{
    CW_SPEC_AUTO all = {0};
    int rc = cw_nested_infer(choice->v[0], in, &all, err);
    for (size_t i = 1; rc == 0 && i < choice->n; i++) {
        char what[48];
        CW_SPEC_AUTO one = {0};
        snprintf(what, sizeof(what), "by chain %zu", i + 1);
        rc = cw_nested_infer(choice->v[i], in, &one, err);
        if (rc == 0)
            rc = cw_nested_join(&all, &one, what, err);
    }
    if (rc == 0)
        *ret_spec = cw_spec_take(&all);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct random_choice_opts *o = opts;
    struct choice *choice = NULL;
    CW_SPEC_AUTO out = {0};
    (void)in_n;
    int rc = choice_new(opts, &choice, err);
    if (rc == 0)
        rc = infer_all(choice, &in[0], &out, err);
    if (rc == 0 && o->p < 1)
        rc = cw_nested_join(&out, &in[0], "without a chain", err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&out);
    choice_free(choice);
    return rc;
}

static int open_chains(const void *opts, const struct cw_op_open *how, void **ret_state,
                       struct cw_err *err)
{
    struct choice *choice = NULL;
    int rc = choice_new(opts, &choice, err);
    for (size_t i = 0; rc == 0 && i < choice->n; i++)
        rc = cw_nested_open(choice->v[i], how, err);
    if (rc < 0)
        choice_free(choice);
    else
        *ret_state = choice;
    return rc;
}

static void *scratch_new(const void *opts, void *state)
{
    const struct choice *choice = state;
    struct choice_run *run = CW_NEW(struct choice_run);
    (void)opts;
    for (; run->n < choice->n; run->n++)
        run->v[run->n] = cw_nested_run_new(choice->v[run->n]);
    return run;
}

static void scratch_free(void *scratch)
{
    struct choice_run *run = scratch;
    for (size_t i = 0; run && i < run->n; i++)
        cw_nested_run_free(run->v[i]);
    cw_mem_free(run);
}

/* Draws the number of a chain. */
static size_t draw_chain(const struct cw_op_ctx *ctx, const struct cw_f64_list *weights, size_t n)
{
    if (weights->n == 0)
        return (size_t)cw_rng_below(&ctx->rng, DRAW_CHAIN, n);
    double left = cw_rng_unit(&ctx->rng, DRAW_CHAIN) * sum_of(weights);
    size_t chosen = 0;
    for (size_t i = 0; i < n; i++) {
        if (weights->v[i] > 0)
            chosen = i;
        left -= weights->v[i];
        if (left < 0)
            break;
    }
    return chosen;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct random_choice_opts *o = opts;
    struct choice_run *run = scratch;
    struct cw_rng rng;
    (void)state;
    if (cw_u8_op_skips(ctx, o->p))
        return 0;
    const size_t i = draw_chain(ctx, &o->weights, run->n);
    cw_rng_fork(&ctx->rng, i, &rng);
    return cw_nested_apply(run->v[i], ctx, &rng, element, err);
}

static bool draws(const void *opts)
{
    const struct random_choice_opts *o = opts;
    struct choice *choice = NULL;
    bool yes = o->p > 0 && choice_new(opts, &choice, NULL) == 0 && (choice->n > 1 || o->p < 1);
    for (size_t i = 0; choice && o->p > 0 && i < choice->n; i++)
        yes = yes || cw_nested_draws(choice->v[i]);
    choice_free(choice);
    return yes;
}

static bool varies(const void *opts)
{
    struct choice *choice = NULL;
    bool yes = false;
    if (choice_new(opts, &choice, NULL) == 0)
        for (size_t i = 0; i < choice->n; i++)
            yes = yes || cw_nested_varies(choice->v[i]);
    choice_free(choice);
    return yes;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    struct choice *choice = NULL;
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){.known = choice_new(opts, &choice, NULL) == 0};
    for (size_t i = 0; choice && i < choice->n; i++)
        cw_nested_facts(choice->v[i], in, ret_facts);
    choice_free(choice);
}

static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    const struct random_choice_opts *o = opts;
    struct choice *choice = NULL;
    struct cw_value list = {0};
    (void)fields;
    (void)fields_n;
    cw_value_copy(&list, &o->chains);
    bool can = choice_new(opts, &choice, NULL) == 0;
    for (size_t i = 0; can && i < choice->n; i++)
        can = cw_nested_pin(choice->v[i], in, &list.items[i]);
    choice_free(choice);
    if (can)
        *cw_value_member(pinned, "chains") = list;
    else
        cw_value_fini(&list);
    return can;
}

const struct cw_op cw_op_random_choice = {
    .name = "random_choice",
    .version = 1,
    .summary = "one of several chains of operators works on an element",
    .doc =
        "Takes one of `chains` at random and runs its operators on the element, as torchvision's "
        "RandomChoice. What can stand in a\n"
        "chain, and what becomes of fields, is as for `random_apply`.\n"
        "\n"
        "Draw 0 says, by `p`, whether an element is changed, and draw 1 is the chain, by "
        "`weights`. Operator i of chain c, both from\n"
        "0, draws from fork i of fork c of this operator's stream (pipelines.md, \"Randomness\").",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct random_choice_opts),
    .check = check,
    .infer = infer,
    .open = open_chains,
    .close = choice_free,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply = apply,
    .facts = facts,
    .draws = draws,
    .varies = varies,
    .pin = pin,
};
