/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `detokenize`: the texts that tokens of a byte-level BPE stand for. */
#include <string.h>

#include "ops/text/bpe_decode.h"
#include "ops/text/bpe_model.h"
#include "ops/text/model_file.h"

struct detokenize_opts {
    char *tokenizer, *vocab, *ranks;
    struct cw_value special;
    bool skip_special;
};

#define OFFSET(member) offsetof(struct detokenize_opts, member)
static const struct cw_opt options[] = {
    {.name = "ranks",
     .help = "path of a file of ranks, as tiktoken has them",
     .type = CW_OPT_STR,
     .offset = OFFSET(ranks)},
    {.name = "skip_special",
     .help = "special tokens become nothing",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(skip_special),
     .def = "false"},
    {.name = "special",
     .help = "special tokens that the file has not: {\"text\": id}",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(special)},
    {.name = "tokenizer",
     .help = "path of a tokenizer.json",
     .type = CW_OPT_STR,
     .offset = OFFSET(tokenizer)},
    {.name = "vocab",
     .help = "path of a vocab.json, as GPT-2 has it",
     .type = CW_OPT_STR,
     .offset = OFFSET(vocab)},
    {0},
};

static bool is_given(const char *text)
{
    return text && text[0];
}

static int check(const void *opts, struct cw_err *err)
{
    const struct detokenize_opts *o = opts;
    if (is_given(o->tokenizer) + is_given(o->vocab) + is_given(o->ranks) != 1)
        return cw_err_set(err, CW_E_INVALID,
                          "exactly one of the options tokenizer, vocab and ranks is needed: they "
                          "name the model's file");
    if (o->special.type != CW_VALUE_NULL && o->special.type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "option special: is %s, not an object of ids",
                          cw_value_type_name(o->special.type));
    for (size_t i = 0; i < o->special.n; i++)
        if (o->special.items[i].type != CW_VALUE_I64)
            return cw_err_set(err, CW_E_INVALID, "option special: \"%.80s\" is %s, not an id",
                              o->special.keys[i], cw_value_type_name(o->special.items[i].type));
    return 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    int rc = cw_ids_check(in, err);
    *ret_field = *in;
    ret_field->dtype = CW_DTYPE_STR;
    ret_field->rank = 0;
    return rc;
}

struct state {
    struct cw_model_files files;
    struct cw_bpe_decoder decoder;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_bpe_decoder_fini(&s->decoder);
    cw_mem_free(s);
}

/* ---- files ---- */

static int read_json(struct state *s, struct cw_bpe_model *model, const char *json, size_t n,
                     struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_bpe_read_json(model, json, n, true, err); /* it refuses what is no byte-level BPE */
    if (rc == 0)
        rc = cw_bpe_decoder_add(&s->decoder, &model->tokens, true, err);
    if (rc == 0)
        rc = cw_value_parse(json, n, "tokenizer.json", &value, err);
    if (rc == 0)
        rc = cw_bpe_decoder_add_added(&s->decoder, cw_value_get(&value, "added_tokens"), err);
    cw_value_fini(&value);
    return rc;
}

static int read_vocab(struct state *s, struct cw_bpe_model *model, const char *json, size_t n,
                      struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_value_parse(json, n, "vocab.json", &value, err);
    if (rc == 0)
        rc = cw_bpe_set_vocab(model, &value, err);
    if (rc == 0)
        rc = cw_bpe_decoder_add(&s->decoder, &model->tokens, true, err);
    cw_value_fini(&value);
    return rc;
}

static int read_ranks(struct state *s, struct cw_bpe_model *model, const char *ranks, size_t n,
                      struct cw_err *err)
{
    const int rc = cw_bpe_read_ranks(model, ranks, n, err);
    return rc < 0 ? rc : cw_bpe_decoder_add(&s->decoder, &model->tokens, false, err);
}

static int read_file(struct state *s, const struct detokenize_opts *o, const struct cw_op_open *how,
                     struct cw_err *err)
{
    const char *path = is_given(o->tokenizer) ? o->tokenizer
                       : is_given(o->vocab)   ? o->vocab
                                              : o->ranks;
    cw_autofree char *bytes = NULL;
    size_t n;
    struct cw_bpe_model model;
    int rc = cw_model_file_read(&s->files, path, how, &bytes, &n, err);
    if (rc < 0)
        return rc;
    cw_bpe_model_init(&model);
    rc = (is_given(o->tokenizer) ? read_json
          : is_given(o->vocab)   ? read_vocab
                                 : read_ranks)(s, &model, bytes, n, err);
    cw_bpe_model_fini(&model);
    return rc < 0 ? cw_err_wrap(err, "%s", path) : 0;
}

static int add_special(struct state *s, const struct cw_value *special, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < special->n; i++) {
        const char *text = special->keys[i];
        rc = cw_bpe_decoder_add_one(&s->decoder, text, strlen(text), special->items[i].i, false,
                                    err);
        if (rc == 0)
            cw_bpe_decoder_mark(&s->decoder, special->items[i].i);
    }
    return rc < 0 ? cw_err_wrap(err, "option special") : 0;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct detokenize_opts *o = opts;
    struct state *s = CW_NEW(struct state);
    int rc = read_file(s, o, how, err);
    if (rc == 0)
        rc = add_special(s, &o->special, err);
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

/* ---- elements ---- */

/* How many bytes the text has. */
static int measure(const struct detokenize_opts *o, const struct cw_bpe_decoder *decoder,
                   const int32_t *ids, size_t n, size_t *ret_bytes, struct cw_err *err)
{
    *ret_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const struct cw_bpe_decoded *token = cw_bpe_decoder_get(decoder, ids[i]);
        if (!token)
            return cw_err_set(err, CW_E_INVALID, "value %zu: the model has no token %d", i, ids[i]);
        *ret_bytes += o->skip_special && token->special ? 0 : token->n;
    }
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct detokenize_opts *o = opts;
    const struct cw_bpe_decoder *decoder = &((struct state *)state)->decoder;
    const int32_t *ids = in->data;
    const size_t n = in->bytes / sizeof(*ids);
    (void)scratch;
    out->dtype = CW_DTYPE_STR;
    out->rank = 0;
    out->stamp = NULL;
    int rc = measure(o, decoder, ids, n, &out->bytes, err);
    if (rc == 0)
        rc = cw_op_output(ctx, out, err);
    char *to = out->data;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct cw_bpe_decoded *token = cw_bpe_decoder_get(decoder, ids[i]);
        if (o->skip_special && token->special)
            continue;
        memcpy(to, decoder->pool + token->at, token->n);
        to += token->n;
    }
    return rc;
}

const struct cw_op cw_op_detokenize = {
    .name = "detokenize",
    .version = 1,
    .summary = "the texts that tokens of a byte-level BPE stand for",
    .doc = "The reverse of `bpe`: the bytes of all tokens, one after another, as the tokenizers "
           "package's decode with `tokenizer` (a\n"
           "tokenizer.json) or `vocab` (GPT-2's vocab.json), and tiktoken's decode_bytes with "
           "`ranks`. Bytes that are no UTF-8 stay as they\n"
           "are (tokenizers writes U+FFFD). `skip_special` leaves out special tokens: those that "
           "tokenizer.json calls so, and those of\n"
           "`special`. A token that the model has not is an error of the element. Works on all "
           "i32[?] fields unless `fields` says which. The\n"
           "file is identified by its content.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct detokenize_opts),
    .check = check,
    .accepts = cw_ids_are,
    .infer_field = infer_field,
    .open = open_state,
    .close = close_state,
    .manifest = manifest,
    .apply_field = apply_field,
    .facts = cw_ids_facts,
};
