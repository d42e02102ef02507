/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `add_tokens`: tokens before and behind those of a text. */
#include <string.h>

#include "ops/text/ids.h"

#define TOKENS_MAX 1024

struct add_opts {
    struct cw_i64_list begin, end;
};

#define OFFSET(member) offsetof(struct add_opts, member)
static const struct cw_opt options[] = {
    {.name = "begin",
     .help = "tokens that come before the text",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(begin),
     .def = "[]",
     .min = INT32_MIN,
     .max = INT32_MAX,
     .len_max = TOKENS_MAX},
    {.name = "end",
     .help = "tokens that come behind it",
     .type = CW_OPT_I64_LIST,
     .offset = OFFSET(end),
     .def = "[]",
     .min = INT32_MIN,
     .max = INT32_MAX,
     .len_max = TOKENS_MAX},
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct add_opts *o = opts;
    int rc = cw_ids_check(in, err);
    if (rc < 0)
        return rc;
    *ret_field = *in;
    if (in->dims[0] >= 0)
        ret_field->dims[0] = in->dims[0] + (int64_t)(o->begin.n + o->end.n);
    return 0;
}

static int32_t *put(int32_t *to, const struct cw_i64_list *tokens)
{
    for (size_t i = 0; i < tokens->n; i++)
        *to++ = (int32_t)tokens->v[i];
    return to;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct add_opts *o = opts;
    (void)state;
    (void)scratch;
    out->dims[0] = in->dims[0] + (int64_t)(o->begin.n + o->end.n);
    int rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    int32_t *to = put(out->data, &o->begin);
    if (in->bytes > 0)
        memcpy(to, in->data, in->bytes);
    put(to + in->dims[0], &o->end);
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    (void)opts;
    (void)in;
    cw_facts_of_fields(CW_EFFECT_OTHER, fields, fields_n, ret_facts);
}

const struct cw_op cw_op_add_tokens = {
    .name = "add_tokens",
    .version = 1,
    .summary = "tokens before and behind those of a text",
    .doc = "Puts the tokens `begin` before those of a text and `end` behind them: what begins and "
           "ends\n"
           "a text (bos, eos), or [CLS] and [SEP]. Works on all fields that are i32[?] unless "
           "`fields`\n"
           "says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct add_opts),
    .accepts = cw_ids_are,
    .infer_field = infer_field,
    .apply_field = apply_field,
    .facts = facts,
};
