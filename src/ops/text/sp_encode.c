/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding texts by a model of SentencePiece: the normalised text is cut where no piece goes across, and
 * what its parts were encoded to is remembered. */
#include "ops/text/sp_model.h"

/* Memory of the algorithm beyond this is given back behind a text. */
#define KEEP_BYTES ((size_t)16 << 20)

static bool is_space(const uint8_t *p)
{
    return p[0] == 0xe2 && p[1] == 0x96 && p[2] == 0x81;
}

/* The length of the first part: spaces and what follows them, or the other way round. */
static size_t part_of(const struct cw_sp_model *model, const uint8_t *p, size_t n)
{
    const bool space_first = model->cut == CW_SP_CUT_BEFORE_SPACE;
    size_t i = 0;
    if (model->cut == CW_SP_CUT_NEVER)
        return n;
    while (space_first && i + 3 <= n && is_space(p + i))
        i += 3;
    for (; i < n; i++) {
        const uint8_t *sign = memchr(p + i, 0xe2, n - i);
        i = sign ? (size_t)(sign - p) : n;
        if (i + 3 <= n && is_space(p + i))
            break;
    }
    i = CW_MIN(i, n);
    while (!space_first && i + 3 <= n && is_space(p + i))
        i += 3;
    return i;
}

/* Appends tokens; a run of unknown ones is one. */
static inline void append(const struct cw_sp_model *model, struct cw_ids *ids, const int32_t *from,
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (from[i] != model->unk || ids->n == 0 || ids->v[ids->n - 1] != model->unk)
            ids->v[ids->n++] = from[i];
}

static inline void add_scores(const struct cw_sp_model *model, const int32_t *ids, size_t n,
                              float *score)
{
    for (size_t i = 0; i < n; i++)
        *score += model->scores[ids[i]];
}

/* Encodes a part by the algorithm, and remembers it; line: where, if the part is short. */
static int encode_anew(const struct cw_sp_model *model, struct cw_sp_thread *thread,
                       const uint8_t *p, size_t n, struct cw_word_entry *line,
                       struct cw_word_key key, float *score, struct cw_err *err)
{
    float margin = 0;
    thread->word.n = 0;
    int rc = model->kind == CW_SP_BPE ? cw_sp_bpe(model, thread, p, n, err)
                                      : cw_sp_unigram(model, thread, p, n, score, &margin, err);
    if (rc < 0)
        return rc;
    append(model, &thread->ids, thread->word.v, thread->word.n);
    if (margin < 0 || model->cut == CW_SP_CUT_NEVER)
        return 0;
    if (line && thread->word.n <= CW_WORD_SHORT_IDS)
        cw_word_put(line, key, thread->word.v, thread->word.n, margin);
    else
        cw_word_long_put(&thread->cache, p, n, thread->word.v, thread->word.n, margin);
    return 0;
}

/* Encodes a part that is not in the table of short ones, or not surely enough; line: its place there,
 * NULL if it is too long. */
static int encode_other(const struct cw_sp_model *model, struct cw_sp_thread *thread,
                        const uint8_t *p, size_t n, struct cw_word_entry *line,
                        struct cw_word_key key, float *score, struct cw_err *err)
{
    float margin = 0;
    int rc = cw_ids_reserve(&thread->word, n, err);
    if (rc < 0)
        return rc;
    thread->word.n = 0;
    const int64_t known = cw_word_long_find(&thread->cache, p, n, thread->word.v, &margin);
    if (known < 0 || (model->kind == CW_SP_UNIGRAM && margin <= cw_sp_rounding(n, *score)))
        return encode_anew(model, thread, p, n, line, key, score, err);
    append(model, &thread->ids, thread->word.v, (size_t)known);
    add_scores(model, thread->word.v, (size_t)known, score);
    return 0;
}

static inline int encode_part(const struct cw_sp_model *model, struct cw_sp_thread *thread,
                              const uint8_t *p, size_t n, size_t room, float *score,
                              struct cw_err *err)
{
    if (n > CW_WORD_SHORT_BYTES)
        return encode_other(model, thread, p, n, NULL, (struct cw_word_key){0, 0}, score, err);
    const struct cw_word_key key = cw_word_key_of(p, n, room);
    struct cw_word_entry *line = cw_word_line(&thread->cache, key);
    const struct cw_word_entry *entry = cw_word_find(line, key);
    if (CW_UNLIKELY(!entry || (model->kind == CW_SP_UNIGRAM &&
                               cw_word_margin(entry) <= cw_sp_rounding(n, *score))))
        return encode_other(model, thread, p, n, line, key, score, err);
    append(model, &thread->ids, entry->ids, entry->n);
    add_scores(model, entry->ids, entry->n, score);
    return 0;
}

int cw_sp_encode(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
                 size_t n, struct cw_err *err)
{
    float score = 0;
    int rc = cw_sp_normalize(model, thread, p, n, err);
    thread->ids.n = 0;
    p = (const uint8_t *)thread->normal.s;
    n = thread->normal.len;
    /* a token has at least one byte, and each byte of an unknown character is one at most */
    if (rc == 0)
        rc = cw_ids_reserve(&thread->ids, n, err);
    for (size_t at = 0; rc == 0 && at < n;) {
        const size_t len = part_of(model, p + at, n - at);
        rc = encode_part(model, thread, p + at, len, n - at, &score, err);
        at += len;
    }
    if (thread->memory_bytes > KEEP_BYTES) {
        cw_mem_free(thread->memory);
        thread->memory = NULL;
        thread->memory_bytes = 0;
    }
    return rc;
}
