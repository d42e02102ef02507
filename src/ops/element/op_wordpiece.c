/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `wordpiece`: the tokens of texts by a WordPiece vocabulary, as BERT has them. */
#include <string.h>

#include "ops/text/model_file.h"
#include "ops/text/wordpiece.h"

struct wordpiece_opts {
    char *vocab, *unk, *prefix;
    struct cw_str_list special;
    bool lower, chinese_chars, clean;
    int strip_accents;
    int64_t word_chars;
};
static const char *const accents_names[] = {"as_lower", "yes", "no", NULL};

#define OFFSET(member) offsetof(struct wordpiece_opts, member)
static const struct cw_opt options[] = {
    {.name = "vocab",
     .help = "path of a vocab.txt: a token on each line, whose number from 0 is its id",
     .type = CW_OPT_STR,
     .offset = OFFSET(vocab),
     .flags = CW_OPT_REQUIRED},
    {.name = "lower",
     .help = "letters become small",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(lower),
     .def = "true"},
    {.name = "strip_accents",
     .help = "whether accents are left out: yes, no, or as `lower` says",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(strip_accents),
     .def = "\"as_lower\"",
     .names = accents_names},
    {.name = "chinese_chars",
     .help = "each Chinese character is a word",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(chinese_chars),
     .def = "true"},
    {.name = "clean",
     .help = "control characters are left out, and all spaces are alike",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(clean),
     .def = "true"},
    {.name = "special",
     .help = "tokens of the vocabulary that are found in texts before they are cleaned: [CLS]",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(special)},
    {.name = "unk",
     .help = "token of a word that cannot be put together",
     .type = CW_OPT_STR,
     .offset = OFFSET(unk),
     .def = "\"[UNK]\""},
    {.name = "prefix",
     .help = "how tokens begin that go on with a word",
     .type = CW_OPT_STR,
     .offset = OFFSET(prefix),
     .def = "\"##\""},
    {.name = "word_chars",
     .help = "a word of more characters is `unk`",
     .type = CW_OPT_I64,
     .offset = OFFSET(word_chars),
     .def = "100",
     .min = 1,
     .max = 0x1p30},
    {0},
};

struct state {
    struct cw_model_files files;
    struct cw_wordpiece model;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_wordpiece_fini(&s->model);
    cw_mem_free(s);
}

static int add_special(struct cw_wordpiece *model, const struct cw_str_list *special,
                       struct cw_err *err)
{
    for (size_t i = 0; i < special->n; i++) {
        const char *text = special->v[i];
        const struct cw_added_token token = {.id =
                                                 cw_vocab_find(&model->tokens, text, strlen(text))};
        if (token.id < 0)
            return cw_err_set(err, CW_E_INVALID,
                              "option special: \"%.80s\" is not in the vocabulary", text);
        int rc = cw_added_add(&model->special, text, strlen(text), token, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_model(struct state *s, const struct wordpiece_opts *o, const struct cw_op_open *how,
                      struct cw_err *err)
{
    cw_autofree char *bytes = NULL;
    size_t n;
    int rc = cw_model_file_read(&s->files, o->vocab, how, &bytes, &n, err);
    if (rc < 0)
        return rc;
    rc = cw_wordpiece_read(&s->model, bytes, n, o->prefix, o->unk, err);
    return rc < 0 ? cw_err_wrap(err, "%s", o->vocab) : add_special(&s->model, &o->special, err);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct wordpiece_opts *o = opts;
    struct state *s = CW_NEW(struct state);
    cw_wordpiece_init(&s->model);
    s->model.lower = o->lower;
    s->model.strip_accents = o->strip_accents == 0 ? o->lower : o->strip_accents == 1;
    s->model.chinese_chars = o->chinese_chars;
    s->model.clean = o->clean;
    s->model.word_chars_max = o->word_chars;
    int rc = read_model(s, o, how, err);
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
    (void)opts;
    (void)state;
    return cw_wordpiece_thread_new();
}

static void scratch_free(void *scratch)
{
    cw_wordpiece_thread_free(scratch);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct state *s = state;
    struct cw_wordpiece_thread *thread = scratch;
    (void)opts;
    int rc = cw_wordpiece_encode(&s->model, thread, in->data, in->bytes, err);
    return rc == 0 ? cw_ids_output(&thread->ids, ctx, out, err) : rc;
}

const struct cw_op cw_op_wordpiece = {
    .name = "wordpiece",
    .version = 1,
    .summary = "the tokens of texts by a WordPiece vocabulary, as BERT has them",
    .doc =
        "Encodes texts as the tokenizers package does with BertNormalizer, BertPreTokenizer and\n"
        "WordPiece: the text is cleaned, cut at spaces and punctuation, and each word becomes the\n"
        "longest token that begins it, then the longest one with `prefix` that goes on; a word "
        "for\n"
        "which that fails is `unk`. The result is i32[?]. `add_tokens` adds [CLS] and [SEP]. The\n"
        "vocabulary is identified by its content. Works on all str fields unless `fields` says "
        "which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct wordpiece_opts),
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
