/* SPDX-License-Identifier: Apache-2.0 */
/* A model of SentencePiece: its pieces, its normaliser, and the encoding of texts by it, equal to that
 * of the library. It does not change once it was read. */
#ifndef CW_OPS_TEXT_SP_MODEL_H
#define CW_OPS_TEXT_SP_MODEL_H

#include "ops/text/ids.h"
#include "ops/text/trie.h"
#include "ops/text/vocab.h"
#include "ops/text/word_cache.h"

enum cw_sp_kind { CW_SP_UNIGRAM = 1, CW_SP_BPE = 2 };
enum cw_sp_type {
    CW_SP_NORMAL = 1,
    CW_SP_UNKNOWN = 2,
    CW_SP_CONTROL = 3,
    CW_SP_USER_DEFINED = 4,
    CW_SP_UNUSED = 5,
    CW_SP_BYTE = 6
};
/* Where a text may be cut so that each part can be encoded by itself. */
enum cw_sp_cut { CW_SP_CUT_NEVER, CW_SP_CUT_BEFORE_SPACE, CW_SP_CUT_BEHIND_SPACE };

struct cw_sp_model {
    enum cw_sp_kind kind;
    struct cw_vocab pieces;   /* normal, user-defined and unused ones */
    struct cw_vocab reserved; /* the others */
    float *scores;            /* by id; unk's is what an unknown character costs */
    uint8_t *types;
    size_t n, cap;
    struct cw_trie trie; /* of `pieces`, for unigram */
    int32_t *
        ascii_pairs; /* for BPE: ids of `pieces` of two ASCII characters, by 128 * first + second; -1: none */
    struct cw_trie user; /* of user-defined pieces, which are found first */
    size_t user_n;
    bool has_unused;
    int32_t unk, of_byte[256];
    bool byte_fallback;
    float max_score;
    enum cw_sp_cut cut;
    /* the normaliser: a double array (Darts), and the texts that its values point into */
    uint32_t *darts;
    size_t darts_n;
    char *replacements; /* ends with a NUL */
    size_t replacements_n;
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, whitespace_as_suffix;
    bool is_plain[128];  /* an ASCII character that stays as it is if another one follows */
    bool is_space_plain; /* the same of the space, which is_plain does not have */
};

void cw_sp_init(struct cw_sp_model *model);
void cw_sp_fini(struct cw_sp_model *model);
/* Reads a .model file. Errors say what is wrong in it. */
int cw_sp_read(struct cw_sp_model *model, const uint8_t *p, size_t n, struct cw_err *err);
/* Part of the reader: derives what is not in the file. */
int cw_sp_finish(struct cw_sp_model *model, struct cw_err *err);

/* What a thread needs to encode. */
struct cw_sp_thread {
    struct cw_word_cache cache;
    struct cw_str normal;
    struct cw_ids ids;  /* the result */
    struct cw_ids word; /* tokens of one part, from the first to the last */
    void *memory;       /* of the algorithm */
    size_t memory_bytes;
    uint32_t *left_n; /* BPE: how an unused piece was made, by id */
};
struct cw_sp_thread *cw_sp_thread_new(const struct cw_sp_model *model);
void cw_sp_thread_free(struct cw_sp_thread *thread);
/* Encodes a text; the tokens are in thread->ids. */
int cw_sp_encode(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
                 size_t n, struct cw_err *err);

/* ---- parts ---- */

/* Normalises a text into thread->normal. */
int cw_sp_normalize(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
                    size_t n, struct cw_err *err);
/* Fills is_plain. */
void cw_sp_find_plain(struct cw_sp_model *model);
/* Returns memory of the thread of at least so many bytes, or NULL. */
void *cw_sp_memory(struct cw_sp_thread *thread, size_t bytes, struct cw_err *err);
/* Adds the tokens of a part to thread->word: BPE. */
int cw_sp_bpe(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
              size_t n, struct cw_err *err);
/* The same for unigram. *score is the sum before it, and becomes that behind it; *ret_margin: by how
 * much the nearest other way is worse, less what rounding in a sum of this part may be; negative: it
 * may not be cached. */
int cw_sp_unigram(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
                  size_t n, float *score, float *ret_margin, struct cw_err *err);
/* What rounding may do to a comparison of ways through a part of n bytes, if the sum before it is
 * `score`. */
static inline float cw_sp_rounding(size_t n, float score)
{
    return (float)(n + 4) * 4.8e-7f * (score < 0 ? -score : score);
}
/* Adds the token of one piece, of which an unknown one may become several. */
int cw_sp_add(const struct cw_sp_model *model, struct cw_ids *ids, const uint8_t *p, size_t n,
              int32_t id, struct cw_err *err);
/* The length of a character by its first byte, as the library takes it. */
static inline size_t cw_sp_char_len(const uint8_t *p, size_t n)
{
    const size_t len = p[0] < 0xc0 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    return len < n ? len : n;
}

#endif
