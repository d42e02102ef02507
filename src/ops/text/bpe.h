/* SPDX-License-Identifier: Apache-2.0 */
/* Byte-pair encoding of words: the pair of neighbours with the least rank is merged, the leftmost of
 * several, until no pair has a rank. That is what GPT-2, the tokenizers package and tiktoken do. A
 * model is filled by a reader (bpe_files.h), and does not change afterwards. */
#ifndef CW_OPS_TEXT_BPE_H
#define CW_OPS_TEXT_BPE_H

#include <stdbool.h>
#include "ops/text/vocab.h"

/* A merge: the tokens of `key` (left << 32 | right) become token id. */
struct cw_bpe_pair {
    uint64_t key;
    uint32_t rank;
    int32_t id;
};
#define CW_BPE_NO_PAIR UINT64_MAX

struct cw_bpe {
    struct cw_bpe_pair *pairs; /* open addressing; key CW_BPE_NO_PAIR: empty */
    size_t pairs_n, slots_n;
    int shift;             /* a key's first slot is its product's upper bits */
    int32_t of_byte[256];  /* tokens of single bytes; -1: there is none */
    int32_t unk;           /* token of a byte that has none; -1: it is left out */
    bool fuse_unk;         /* a run of such bytes is one token */
    bool whole_words;      /* a word that is a token is not taken apart */
    struct cw_vocab words; /* tokens by their bytes, with whole_words */
};

void cw_bpe_init(struct cw_bpe *bpe);
void cw_bpe_fini(struct cw_bpe *bpe);
/* Adds a merge. A later one of the same pair replaces it. */
void cw_bpe_add(struct cw_bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id);

/* Memory for long words; it belongs to a thread. */
struct cw_bpe_scratch {
    void *memory;
    size_t bytes;
};
void cw_bpe_scratch_fini(struct cw_bpe_scratch *scratch);
/* Encodes one word of n bytes into out, which has room for n tokens. The number of tokens is
 * returned, or NOMEM. */
int64_t cw_bpe_word(const struct cw_bpe *bpe, struct cw_bpe_scratch *scratch, const uint8_t *p,
                    size_t n, int32_t *out, struct cw_err *err);

/* Looks a pair up; NULL: it is not merged. */
static inline const struct cw_bpe_pair *cw_bpe_pair(const struct cw_bpe *bpe, int32_t left,
                                                    int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> bpe->shift);
    for (; bpe->pairs[i].key != CW_BPE_NO_PAIR; i = (i + 1) & (bpe->slots_n - 1))
        if (bpe->pairs[i].key == key)
            return &bpe->pairs[i];
    return NULL;
}

#endif
