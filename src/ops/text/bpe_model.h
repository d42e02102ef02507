/* SPDX-License-Identifier: Apache-2.0 */
/* A byte-level BPE model as files have it: merges, a pre-tokeniser, added tokens; and the encoding of
 * texts by it. It does not change once it was read. */
#ifndef CW_OPS_TEXT_BPE_MODEL_H
#define CW_OPS_TEXT_BPE_MODEL_H

#include "conf/value.h"
#include "ops/text/added.h"
#include "ops/text/bpe.h"
#include "ops/text/ids.h"
#include "ops/text/normal_form.h"
#include "ops/text/scan.h"
#include "ops/text/word_cache.h"

struct cw_bpe_model {
    struct cw_bpe bpe;
    struct cw_vocab tokens;     /* all tokens, as the file spells them (of ranks: their bytes) */
    struct cw_added raw;        /* added tokens that are looked for in the text as it is */
    struct cw_added normalized; /* those that are looked for after normalisation */
    char *pattern; /* of the pre-tokeniser, or the name of a scanner; NULL: the file has none */
    struct cw_scan scan;
    enum cw_normal_form form;
    bool add_prefix_space; /* a piece of text that does not begin with a space gets one */
};

void cw_bpe_model_init(struct cw_bpe_model *model);
void cw_bpe_model_fini(struct cw_bpe_model *model);
/* Readers. They take the contents of files; errors say which token, line or member is wrong. */
int cw_bpe_read_gpt2(struct cw_bpe_model *model, const char *vocab, size_t vocab_n,
                     const char *merges, size_t merges_n, struct cw_err *err);
int cw_bpe_read_ranks(struct cw_bpe_model *model, const char *ranks, size_t n, struct cw_err *err);
/* special: whether special tokens are looked for in texts */
int cw_bpe_read_json(struct cw_bpe_model *model, const char *json, size_t n, bool special,
                     struct cw_err *err);
/* Parts of the readers: a vocabulary {token: id}, and what follows from it and the merges. */
int cw_bpe_set_vocab(struct cw_bpe_model *model, const struct cw_value *vocab, struct cw_err *err);
int cw_bpe_set_merge(struct cw_bpe_model *model, const char *left, size_t left_n, const char *right,
                     size_t right_n, uint32_t rank, struct cw_err *err);
/* Finds the tokens of single bytes, and with whole_words the bytes of all tokens. */
int cw_bpe_set_bytes(struct cw_bpe_model *model, struct cw_err *err);
/* Writes to `out`, which has room for n, the bytes that a token stands for which is spelled as GPT-2 does, with a
 * character for each byte. Returns their number; -1: some character is of no byte. */
int64_t cw_bpe_token_bytes(const char *text, size_t n, uint8_t *out);
/* Adds tokens of the operator's option: {"text": id} or ["text in the vocabulary"]. */
int cw_bpe_set_special(struct cw_bpe_model *model, const struct cw_value *special,
                       struct cw_err *err);

/* What a thread needs to encode. */
struct cw_bpe_thread {
    struct cw_word_cache cache;
    struct cw_bpe_scratch scratch;
    struct cw_regex_match *match;
    struct cw_str normal;   /* a text in its normal form */
    struct cw_str prefixed; /* a piece with a space before it */
    struct cw_ids ids;      /* the result */
};
struct cw_bpe_thread *cw_bpe_thread_new(const struct cw_bpe_model *model);
void cw_bpe_thread_free(struct cw_bpe_thread *thread);
/* Encodes a text; the tokens are in thread->ids. */
int cw_bpe_encode(const struct cw_bpe_model *model, struct cw_bpe_thread *thread, const uint8_t *p,
                  size_t n, struct cw_err *err);

#endif
