/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `bpe`: the tokens of texts by a byte-level BPE model. */
#include "ops/text/bpe_model.h"
#include "ops/text/model_file.h"

struct bpe_opts {
    char *tokenizer;
    char *vocab, *merges;
    char *ranks;
    char *pattern;
    struct cw_value special;
    bool special_in_text;
    bool add_prefix_space;
};

#define OFFSET(member) offsetof(struct bpe_opts, member)
static const struct cw_opt options[] = {
    {.name = "tokenizer",
     .help = "path of a tokenizer.json",
     .type = CW_OPT_STR,
     .offset = OFFSET(tokenizer)},
    {.name = "vocab",
     .help = "path of a vocab.json, as GPT-2 has it, with `merges`",
     .type = CW_OPT_STR,
     .offset = OFFSET(vocab)},
    {.name = "merges",
     .help = "path of a merges.txt",
     .type = CW_OPT_STR,
     .offset = OFFSET(merges)},
    {.name = "ranks",
     .help = "path of a file of ranks, as tiktoken has them, with `pattern`",
     .type = CW_OPT_STR,
     .offset = OFFSET(ranks)},
    {.name = "pattern",
     .help = "how texts are cut into words: gpt2, cl100k, o200k, llama3, qwen2, none, or a regular "
             "expression; default: that of tokenizer.json, gpt2 with vocab.json",
     .type = CW_OPT_STR,
     .offset = OFFSET(pattern)},
    {.name = "special",
     .help =
         "tokens that are found in texts before they are cut: {\"text\": id}, or a list of texts "
         "that are in the vocabulary",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(special)},
    {.name = "special_in_text",
     .help = "false: special tokens of tokenizer.json are not looked for in texts",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(special_in_text),
     .def = "true"},
    {.name = "add_prefix_space",
     .help = "a text that does not begin with a space gets one (with vocab.json or ranks)",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(add_prefix_space),
     .def = "false"},
    {0},
};

static bool is_given(const char *text)
{
    return text && text[0];
}

static int check(const void *opts, struct cw_err *err)
{
    const struct bpe_opts *o = opts;
    const int kinds = is_given(o->tokenizer) + is_given(o->vocab) + is_given(o->ranks);
    if (kinds != 1)
        return cw_err_set(err, CW_E_INVALID,
                          "exactly one of the options tokenizer, vocab and "
                          "ranks is needed: they name the model's file");
    if (is_given(o->vocab) != is_given(o->merges))
        return cw_err_set(err, CW_E_INVALID, "option merges: belongs to vocab, and vocab to it");
    if (is_given(o->ranks) && !is_given(o->pattern))
        return cw_err_set(err, CW_E_INVALID, "option pattern: is needed with ranks");
    if (o->special.type != CW_VALUE_NULL && o->special.type != CW_VALUE_LIST &&
        o->special.type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "option special: is %s, not a list or an object",
                          cw_value_type_name(o->special.type));
    struct cw_scan scan = {0};
    int rc = is_given(o->pattern) ? cw_scan_init(&scan, o->pattern, err) : 0;
    cw_scan_fini(&scan);
    return rc < 0 ? cw_err_wrap(err, "option pattern") : 0;
}

struct state {
    struct cw_model_files files;
    struct cw_bpe_model model;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_bpe_model_fini(&s->model);
    cw_mem_free(s);
}

static int read_gpt2(struct state *s, const struct bpe_opts *o, const struct cw_op_open *how,
                     struct cw_err *err)
{
    cw_autofree char *vocab = NULL, *merges = NULL;
    size_t vocab_n, merges_n;
    int rc = cw_model_file_read(&s->files, o->vocab, how, &vocab, &vocab_n, err);
    if (rc == 0)
        rc = cw_model_file_read(&s->files, o->merges, how, &merges, &merges_n, err);
    if (rc < 0)
        return rc;
    rc = cw_bpe_read_gpt2(&s->model, vocab, vocab_n, merges, merges_n, err);
    return rc < 0 ? cw_err_wrap(err, "%s, %s", o->vocab, o->merges) : 0;
}

static int read_model(struct state *s, const struct bpe_opts *o, const struct cw_op_open *how,
                      struct cw_err *err)
{
    const char *path = is_given(o->ranks) ? o->ranks : o->tokenizer;
    cw_autofree char *bytes = NULL;
    size_t n;
    if (is_given(o->vocab))
        return read_gpt2(s, o, how, err);
    int rc = cw_model_file_read(&s->files, path, how, &bytes, &n, err);
    if (rc < 0)
        return rc;
    rc = is_given(o->ranks) ? cw_bpe_read_ranks(&s->model, bytes, n, err)
                            : cw_bpe_read_json(&s->model, bytes, n, o->special_in_text, err);
    return rc < 0 ? cw_err_wrap(err, "%s", path) : 0;
}

static int set_options(struct state *s, const struct bpe_opts *o, struct cw_err *err)
{
    if (is_given(o->pattern)) {
        cw_mem_free(s->model.pattern);
        s->model.pattern = cw_mem_strdup(o->pattern);
    }
    if (!is_given(o->tokenizer))
        s->model.add_prefix_space = o->add_prefix_space;
    int rc = cw_scan_init(&s->model.scan, s->model.pattern, err);
    return rc == 0 ? cw_bpe_set_special(&s->model, &o->special, err) : rc;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    struct state *s = CW_NEW(struct state);
    cw_bpe_model_init(&s->model);
    int rc = read_model(s, opts, how, err);
    if (rc == 0)
        rc = set_options(s, opts, err);
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

static void *scratch_new(const void *opts, void *state)
{
    const struct state *s = state;
    (void)opts;
    return cw_bpe_thread_new(&s->model);
}

static void scratch_free(void *scratch)
{
    cw_bpe_thread_free(scratch);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct state *s = state;
    struct cw_bpe_thread *thread = scratch;
    (void)opts;
    int rc = cw_bpe_encode(&s->model, thread, in->data, in->bytes, err);
    return rc == 0 ? cw_ids_output(&thread->ids, ctx, out, err) : rc;
}

const struct cw_op cw_op_bpe = {
    .name = "bpe",
    .version = 1,
    .summary = "the tokens of texts by a byte-level BPE model",
    .doc =
        "Encodes texts as the tokenizers package does with `tokenizer` (a tokenizer.json) or with\n"
        "`vocab` and `merges` (GPT-2's files), and as tiktoken does with `ranks`: added tokens "
        "are\n"
        "found, the text is cut into words by a pattern, and in each word the pair of neighbours "
        "of\n"
        "the least rank is merged until none has a rank. The result is i32[?]. Works on all str\n"
        "fields unless `fields` says which.\n"
        "\n"
        "Of tokenizer.json the BPE model, the pre-tokenisers ByteLevel and Split, the normalisers\n"
        "NFC, NFD, NFKC and NFKD, and the added tokens are read; a file with anything else that\n"
        "changes ids is refused. Its post-processor is not applied: `add_tokens` adds what begins\n"
        "and ends a text. The published patterns gpt2, cl100k, o200k, llama3 and qwen2 are built "
        "in,\n"
        "others are matched by PCRE2; a text for which that takes too many steps is an error of "
        "the\n"
        "element. A byte that is no UTF-8 is encoded as itself. The files are identified by their\n"
        "content.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct bpe_opts),
    .check = check,
    .accepts = cw_ids_accepts,
    .infer_field = cw_ids_infer,
    .open = open_state,
    .close = close_state,
    .manifest = manifest,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .facts = cw_ids_facts,
};
