/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `add_tokens`: tokens before and behind those of a text. */
#include <string.h>

#include "ops/text/ids.h"
#include "ops/text/model_file.h"
#include "ops/text/token_ids.h"

#define TOKENS_MAX 1024

struct add_opts {
    char *tokenizer;
    struct cw_value begin, end; /* lists of ids and texts */
};

#define OFFSET(member) offsetof(struct add_opts, member)
static const struct cw_opt options[] = {
    {.name = "begin",
     .help =
         "tokens that come before the text: a number, with `tokenizer` also the text of a token, "
         "or a list of them",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(begin),
     .def = "[]",
     .len_max = TOKENS_MAX},
    {.name = "end",
     .help = "tokens that come behind it",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(end),
     .def = "[]",
     .len_max = TOKENS_MAX},
    {.name = "tokenizer",
     .help =
         "path of a tokenizer.json, vocab.json or vocab.txt that says which numbers tokens have",
     .type = CW_OPT_STR,
     .offset = OFFSET(tokenizer),
     .flags = CW_OPT_NEWER},
    {0},
};

static bool has_text(const struct cw_value *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].type == CW_VALUE_STR)
            return true;
    return false;
}

static bool names_file(const void *opts)
{
    const struct add_opts *o = opts;
    return has_text(&o->begin) || has_text(&o->end);
}

static int check_token(const char *name, const struct cw_value *token, bool has_tokenizer,
                       struct cw_err *err)
{
    if (token->type == CW_VALUE_STR)
        return has_tokenizer
                   ? 0
                   : cw_err_set(err, CW_E_INVALID,
                                "option %s: \"%.80s\" is the text of a token, whose number is "
                                "found in a file: give that as option tokenizer",
                                name, token->s);
    if (token->type != CW_VALUE_I64 || token->i < INT32_MIN || token->i > INT32_MAX) {
        CW_STR_AUTO text = {0};
        cw_value_print(token, &text);
        return cw_err_set(err, CW_E_INVALID,
                          "option %s: tokens are whole numbers, %d to %d, or texts (given %.80s)",
                          name, INT32_MIN, INT32_MAX, cw_str_text(&text));
    }
    return 0;
}

static int check_tokens(const char *name, const struct cw_value *list, bool has_tokenizer,
                        struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < list->n; i++)
        rc = check_token(name, &list->items[i], has_tokenizer, err);
    return rc;
}

static int check(const void *opts, struct cw_err *err)
{
    const struct add_opts *o = opts;
    const bool has_tokenizer = o->tokenizer && o->tokenizer[0];
    const int rc = check_tokens("begin", &o->begin, has_tokenizer, err);
    return rc == 0 ? check_tokens("end", &o->end, has_tokenizer, err) : rc;
}

struct state {
    struct cw_model_files files;
    int32_t *begin, *end;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_mem_free(s->begin);
    cw_mem_free(s->end);
    cw_mem_free(s);
}

static int find(const char *name, const struct cw_value *list, const struct cw_value *vocabulary,
                int32_t **ret_ids, struct cw_err *err)
{
    *ret_ids = CW_NEW_ARRAY(int32_t, list->n + 1);
    for (size_t i = 0; i < list->n; i++) {
        const struct cw_value *token = &list->items[i];
        int rc = 0;
        if (token->type == CW_VALUE_I64)
            (*ret_ids)[i] = (int32_t)token->i;
        else
            rc = cw_token_id(vocabulary, token->s, &(*ret_ids)[i], err);
        if (rc < 0)
            return cw_err_wrap(err, "option %s", name);
    }
    return 0;
}

static int read_vocabulary(struct state *s, const struct add_opts *o, const struct cw_op_open *how,
                           struct cw_value *vocabulary, struct cw_err *err)
{
    cw_autofree char *bytes = NULL;
    size_t n;
    if (!names_file(o))
        return 0;
    int rc = cw_model_file_read(&s->files, o->tokenizer, how, &bytes, &n, err);
    if (rc < 0)
        return rc;
    rc = cw_token_ids_read(bytes, n, vocabulary, err);
    return rc < 0 ? cw_err_wrap(err, "%s", o->tokenizer) : 0;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct add_opts *o = opts;
    struct state *s = CW_NEW(struct state);
    struct cw_value vocabulary = {0};
    int rc = read_vocabulary(s, o, how, &vocabulary, err);
    if (rc == 0)
        rc = find("begin", &o->begin, &vocabulary, &s->begin, err);
    if (rc == 0)
        rc = find("end", &o->end, &vocabulary, &s->end, err);
    cw_value_fini(&vocabulary);
    if (rc < 0) {
        close_state(s);
        return rc;
    }
    *ret_state = s;
    return 0;
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    const struct state *s = state;
    (void)opts;
    cw_model_files_manifest(&s->files, ret_value);
}

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

static int32_t *put(int32_t *to, const int32_t *tokens, size_t n)
{
    if (n > 0)
        memcpy(to, tokens, n * sizeof(*tokens));
    return to + n;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct add_opts *o = opts;
    const struct state *s = state;
    (void)scratch;
    out->dims[0] = in->dims[0] + (int64_t)(o->begin.n + o->end.n);
    int rc = cw_op_output(ctx, out, err);
    if (rc < 0)
        return rc;
    int32_t *to = put(out->data, s->begin, o->begin.n);
    if (in->bytes > 0)
        memcpy(to, in->data, in->bytes);
    put(to + in->dims[0], s->end, o->end.n);
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
           "a text (bos, eos), or [CLS] and [SEP]. A token is its number, or with `tokenizer` its "
           "text\n"
           "as that file spells it (\"<|endoftext|>\"): one of the added tokens or of the "
           "vocabulary of\n"
           "a tokenizer.json, one of a vocab.json, or a line of a vocab.txt. The file is "
           "identified by\n"
           "its content. Works on all fields that are i32[?] unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_GROW | CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct add_opts),
    .check = check,
    .accepts = cw_ids_are,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .manifest = manifest,
    .names_file = names_file,
    .apply_field = apply_field,
    .facts = facts,
};
