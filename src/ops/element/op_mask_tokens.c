/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `mask_tokens`: the inputs and labels of a task in which hidden tokens are to be told. */
#include <string.h>

#include "ops/op_util.h"
#include "ops/text/ids.h"

struct mask_opts {
    char *field, *labels;
    int64_t ignore, mask, vocab_size;
    double p, random, stay;
    struct cw_i64_list special;
};

#define OFFSET(member) offsetof(struct mask_opts, member)
#define SHARE_ROW(name_, def_, help_)                                                              \
    {                                                                                              \
        .name = #name_, .help = (help_), .type = CW_OPT_F64, .offset = OFFSET(name_),              \
        .def = (def_), .min = 0, .max = 1                                                          \
    }
static const struct cw_opt options[] = {
    {.name = "field",
     .help = "the field with the tokens",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"text\""},
    {.name = "ignore",
     .help = "the label of a token that was not chosen",
     .type = CW_OPT_I64,
     .offset = OFFSET(ignore),
     .def = "-100",
     .min = INT32_MIN,
     .max = INT32_MAX},
    {.name = "labels",
     .help = "name of the field that is added",
     .type = CW_OPT_STR,
     .offset = OFFSET(labels),
     .def = "\"labels\""},
    {.name = "mask",
     .help = "id of the token that hides others",
     .type = CW_OPT_I64,
     .offset = OFFSET(mask),
     .flags = CW_OPT_REQUIRED,
     .min = 0,
     .max = INT32_MAX},
    SHARE_ROW(p, "0.15", "how probably a token is chosen"),
    SHARE_ROW(random, "0.1", "the share of the chosen ones that become any token"),
    {.name = "special",
     .help = "ids of tokens that are never chosen",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(special),
     .def = "[]",
     .min = 0,
     .max = INT32_MAX,
     .len_max = 4096},
    SHARE_ROW(stay, "0.1", "the share of the chosen ones that stay as they are"),
    {.name = "vocab_size",
     .help = "how many tokens there are, of which a random one is drawn",
     .type = CW_OPT_I64,
     .offset = OFFSET(vocab_size),
     .def = "0",
     .min = 0,
     .max = INT32_MAX},
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct mask_opts *o = opts;
    if (o->random + o->stay > 1)
        return cw_err_set(err, CW_E_INVALID, "options random and stay: %g and %g are more than 1",
                          o->random, o->stay);
    if (o->p * o->random > 0 && o->vocab_size == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option vocab_size: is needed, since some tokens become random ones");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct mask_opts *o = opts;
    const int at = cw_spec_find(in, o->field);
    (void)in_n;
    if (at < 0)
        return cw_err_set(err, CW_E_INVALID, "option field: there is no field \"%s\"", o->field);
    const struct cw_field *field = &in->fields[at];
    int rc = cw_ids_check(field, err);
    if (rc < 0)
        return rc;
    CW_SPEC_AUTO spec = cw_spec_copy(in);
    rc = cw_spec_add(&spec, o->labels, field->dtype, field->rank, field->dims, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static bool is_special(const struct mask_opts *o, int32_t id)
{
    for (size_t i = 0; i < o->special.n; i++)
        if (o->special.v[i] == id)
            return true;
    return false;
}

/* What becomes of token i; *label is what it was if it was chosen. */
static int32_t mask_one(const struct cw_op_ctx *ctx, const struct mask_opts *o, uint32_t i,
                        int32_t id, int32_t *label)
{
    const double u = cw_rng_unit(&ctx->rng, 2 * i);
    if (u >= o->p || is_special(o, id))
        return id;
    *label = id;
    if (u < o->p * o->stay)
        return id;
    if (u < o->p * (o->stay + o->random))
        return (int32_t)cw_rng_below(&ctx->rng, 2 * i + 1, (uint64_t)o->vocab_size);
    return (int32_t)o->mask;
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct mask_opts *o = opts;
    struct cw_view *tokens = &element->fields[cw_spec_find(ctx->in, o->field)];
    struct cw_view *labels = &element->fields[element->n];
    const int32_t *from = tokens->data;
    const size_t n = tokens->bytes / sizeof(*from);
    (void)state;
    (void)scratch;
    if (n > UINT32_MAX / 2)
        return cw_err_set(err, CW_E_LIMIT, "%zu tokens", n);
    *labels = *tokens;
    labels->stamp = NULL;
    labels->data = cw_op_scratch(ctx, tokens->bytes, err);
    int32_t *to = labels->data ? cw_op_scratch(ctx, tokens->bytes, err) : NULL;
    if (!to)
        return CW_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        int32_t label = (int32_t)o->ignore;
        to[i] = mask_one(ctx, o, (uint32_t)i, from[i], &label);
        ((int32_t *)labels->data)[i] = label;
    }
    tokens->data = to;
    tokens->stamp = NULL;
    element->n++;
    return 0;
}

static bool draws(const void *opts)
{
    return ((const struct mask_opts *)opts)->p > 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const int at = cw_spec_find(in, ((const struct mask_opts *)opts)->field);
    (void)fields;
    (void)fields_n;
    *ret_facts = (struct cw_op_facts){0};
    if (at < 0)
        return;
    const size_t field = (size_t)at;
    cw_facts_of_fields(CW_EFFECT_OTHER, &field, 1, ret_facts);
    cw_field_set_add(&ret_facts->writes, in->n);
    ret_facts->names_field = true;
    ret_facts->refuses = true;
}

const struct cw_op cw_op_mask_tokens = {
    .name = "mask_tokens",
    .version = 1,
    .summary = "inputs and labels of a task in which hidden tokens are told",
    .doc =
        "Hides some tokens, as BERT is trained (Devlin et al., 2019, 3.1) and transformers' "
        "DataCollatorForLanguageModeling does it: each\n"
        "token that is not `special` is chosen with probability `p`. Of the chosen ones a share "
        "`random` becomes any of `vocab_size`\n"
        "tokens, a share `stay` stays, the others become `mask`. `labels` has what the chosen ones "
        "were, and `ignore` in all other places.\n"
        "Draw 2 i says what becomes of token i: chosen below p, and then, from below, stay, random "
        "and mask; draw 2 i + 1 is the random token.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct mask_opts),
    .check = check,
    .infer = infer,
    .apply = apply,
    .facts = facts,
    .draws = draws,
};
