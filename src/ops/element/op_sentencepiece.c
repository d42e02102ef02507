/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `sentencepiece`: the tokens of texts by a model of SentencePiece. */
#include "ops/text/model_file.h"
#include "ops/text/sp_model.h"

struct sp_opts {
    char *model;
};

static const struct cw_opt options[] = {
    {.name = "model",
     .help = "path of a .model file",
     .type = CW_OPT_STR,
     .offset = offsetof(struct sp_opts, model),
     .flags = CW_OPT_REQUIRED},
    {0},
};

struct state {
    struct cw_model_files files;
    struct cw_sp_model model;
};

static void close_state(void *state)
{
    struct state *s = state;
    if (!s)
        return;
    cw_model_files_fini(&s->files);
    cw_sp_fini(&s->model);
    cw_mem_free(s);
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct sp_opts *o = opts;
    struct state *s = CW_NEW(struct state);
    cw_autofree char *bytes = NULL;
    size_t n;
    cw_sp_init(&s->model);
    int rc = cw_model_file_read(&s->files, o->model, how, &bytes, &n, err);
    if (rc == 0) {
        rc = cw_sp_read(&s->model, (const uint8_t *)bytes, n, err);
        if (rc < 0)
            cw_err_wrap(err, "%s", o->model);
    }
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
    return cw_sp_thread_new(&s->model);
}

static void scratch_free(void *scratch)
{
    cw_sp_thread_free(scratch);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct state *s = state;
    struct cw_sp_thread *thread = scratch;
    (void)opts;
    int rc = cw_sp_encode(&s->model, thread, in->data, in->bytes, err);
    return rc == 0 ? cw_ids_output(&thread->ids, ctx, out, err) : rc;
}

const struct cw_op cw_op_sentencepiece = {
    .name = "sentencepiece",
    .version = 1,
    .summary = "the tokens of texts by a model of SentencePiece",
    .doc =
        "Encodes texts as the library sentencepiece does (0.2, `encode` without options), by a\n"
        "unigram or BPE model: the model's own normaliser, its user-defined pieces, and bytes for\n"
        "unknown characters where it has them. The result is i32[?]. Bytes that are no UTF-8 "
        "become\n"
        "U+FFFD. `add_tokens` adds what begins and ends a text. The model is identified by its\n"
        "content. Works on all str fields unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct sp_opts),
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
