/* SPDX-License-Identifier: Apache-2.0 */
/* From tokens of a byte-level BPE back to bytes. */
#ifndef CW_OPS_TEXT_BPE_DECODE_H
#define CW_OPS_TEXT_BPE_DECODE_H

#include "conf/value.h"
#include "ops/text/vocab.h"

/* The largest id of a token that is decoded, and one. */
#define CW_BPE_DECODE_IDS ((int64_t)1 << 22)

struct cw_bpe_decoder {
    /* By id: where the token's bytes lie in the pool. A token that is not there has `n` UINT32_MAX. */
    struct cw_bpe_decoded {
        size_t at;
        uint32_t n;
        bool special; /* it is no part of the text that people read */
    } * tokens;
    size_t n;
    char *pool;
    size_t pool_n, pool_cap;
};

void cw_bpe_decoder_fini(struct cw_bpe_decoder *decoder);
/* Adds all tokens of a model's vocabulary. is_spelled: they are written with a character for each byte,
 * as GPT-2 does; a token with another character stands for its own bytes, as the tokenizers package
 * has it. */
int cw_bpe_decoder_add(struct cw_bpe_decoder *decoder, const struct cw_vocab *tokens,
                       bool is_spelled, struct cw_err *err);
/* Adds one more, unless its id is there. */
int cw_bpe_decoder_add_one(struct cw_bpe_decoder *decoder, const char *text, size_t n, int64_t id,
                           bool is_spelled, struct cw_err *err);
/* Marks a token as special; it need not be there. */
void cw_bpe_decoder_mark(struct cw_bpe_decoder *decoder, int64_t id);
/* Adds the member "added_tokens" of a tokenizer.json; NULL: it has none. */
int cw_bpe_decoder_add_added(struct cw_bpe_decoder *decoder, const struct cw_value *added,
                             struct cw_err *err);

/* Returns the bytes of a token, or NULL: there is none with this id. */
static inline const struct cw_bpe_decoded *cw_bpe_decoder_get(const struct cw_bpe_decoder *decoder,
                                                              int32_t id)
{
    if (id < 0 || (size_t)id >= decoder->n || decoder->tokens[id].n == UINT32_MAX)
        return NULL;
    return &decoder->tokens[id];
}

#endif
