/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding texts by a byte-level BPE model: added tokens, words, tokens of words. */
#include "ops/text/bpe_model.h"

struct cw_bpe_thread *cw_bpe_thread_new(const struct cw_bpe_model *model)
{
    struct cw_bpe_thread *thread = CW_NEW(struct cw_bpe_thread);
    cw_word_cache_init(&thread->cache);
    if (model->scan.regex)
        thread->match = cw_regex_match_new(model->scan.regex);
    return thread;
}

void cw_bpe_thread_free(struct cw_bpe_thread *thread)
{
    if (!thread)
        return;
    cw_word_cache_fini(&thread->cache);
    cw_bpe_scratch_fini(&thread->scratch);
    cw_regex_match_free(thread->match);
    cw_str_fini(&thread->normal);
    cw_str_fini(&thread->prefixed);
    cw_ids_fini(&thread->ids);
    cw_mem_free(thread);
}

/* ---- words ---- */

/* Encodes a word that is not in the table of short ones; line: its place there, NULL if it is too
 * long. */
static int encode_other(const struct cw_bpe_model *model, struct cw_bpe_thread *thread,
                        const uint8_t *p, size_t n, struct cw_word_key key,
                        struct cw_word_entry *line, struct cw_err *err)
{
    int32_t *out = thread->ids.v + thread->ids.n;
    float margin;
    int64_t ids_n = cw_word_long_find(&thread->cache, p, n, out, &margin);
    if (ids_n < 0) {
        ids_n = cw_bpe_word(&model->bpe, &thread->scratch, p, n, out, err);
        if (ids_n < 0)
            return (int)ids_n;
        if (line && ids_n <= CW_WORD_SHORT_IDS)
            cw_word_put(line, key, out, (size_t)ids_n, 0);
        else
            cw_word_long_put(&thread->cache, p, n, out, (size_t)ids_n, 0);
    }
    thread->ids.n += (size_t)ids_n;
    return 0;
}

/* Encodes a word of which there is room for as many tokens as it has bytes; `room` bytes can be read
 * at p. */
static inline int encode_word(const struct cw_bpe_model *model, struct cw_bpe_thread *thread,
                              const uint8_t *p, size_t n, size_t room, struct cw_err *err)
{
    if (n > CW_WORD_SHORT_BYTES)
        return encode_other(model, thread, p, n, (struct cw_word_key){0, 0}, NULL, err);
    const struct cw_word_key key = cw_word_key_of(p, n, room);
    struct cw_word_entry *line = cw_word_line(&thread->cache, key);
    const struct cw_word_entry *entry = cw_word_find(line, key);
    if (CW_UNLIKELY(!entry))
        return encode_other(model, thread, p, n, key, line, err);
    /* three are copied if there is room for three: one store that does not depend on n */
    int32_t *out = thread->ids.v + thread->ids.n;
    if (CW_LIKELY(room >= CW_WORD_SHORT_IDS)) {
        memcpy(out, entry->ids, sizeof(entry->ids));
    } else {
        for (uint32_t i = 0; i < entry->n; i++)
            out[i] = entry->ids[i];
    }
    thread->ids.n += entry->n;
    return 0;
}

static int encode_matches(const struct cw_bpe_model *model, struct cw_bpe_thread *thread,
                          const uint8_t *p, size_t n, struct cw_err *err)
{
    size_t at = 0;
    while (at < n) {
        size_t begin = n, end = n;
        int rc = cw_regex_find(model->scan.regex, thread->match, p, n, at, &begin, &end, err);
        if (rc == 0)
            begin = end = n;
        if (rc >= 0 && begin > at) /* what no match takes is a word, too */
            rc = CW_MIN(encode_word(model, thread, p + at, begin - at, n - at, err), 0);
        if (rc >= 0 && end > begin)
            rc = encode_word(model, thread, p + begin, end - begin, n - begin, err);
        if (rc < 0)
            return rc;
        at = end;
    }
    return 0;
}

/* Encodes a piece in which there are no added tokens. */
static int encode_words(const struct cw_bpe_model *model, struct cw_bpe_thread *thread,
                        const uint8_t *p, size_t n, struct cw_err *err)
{
    int rc = cw_ids_reserve(&thread->ids, n, err);
    if (rc < 0 || !model->scan.scan)
        return rc < 0 ? rc : encode_matches(model, thread, p, n, err);
    cw_scan_fn *scan = model->scan.scan;
    for (size_t at = 0; rc == 0 && at < n;) {
        const size_t len = scan(p + at, n - at);
        rc = encode_word(model, thread, p + at, len, n - at, err);
        at += len;
    }
    return rc;
}

static int encode_piece(const struct cw_bpe_model *model, struct cw_bpe_thread *thread,
                        const uint8_t *p, size_t n, struct cw_err *err)
{
    if (!model->add_prefix_space || n == 0 || p[0] == ' ')
        return encode_words(model, thread, p, n, err);
    cw_str_clear(&thread->prefixed);
    cw_str_add_char(&thread->prefixed, ' ');
    cw_str_add_bytes(&thread->prefixed, p, n);
    return encode_words(model, thread, (const uint8_t *)thread->prefixed.s, n + 1, err);
}

/* ---- added tokens ---- */

static int add_id(struct cw_bpe_thread *thread, int32_t id, struct cw_err *err)
{
    int rc = cw_ids_reserve(&thread->ids, 1, err);
    if (rc == 0)
        thread->ids.v[thread->ids.n++] = id;
    return rc;
}

static int encode_normalized(const struct cw_bpe_model *model, struct cw_bpe_thread *thread,
                             const uint8_t *p, size_t n, struct cw_err *err)
{
    struct cw_added_walk walk = {0};
    struct cw_added_piece piece;
    int rc = 0;
    if (model->form != CW_FORM_NONE && !cw_is_ascii(p, n)) {
        cw_str_clear(&thread->normal);
        rc = cw_normal_form(model->form, p, n, &thread->normal, err);
        p = (const uint8_t *)cw_str_text(&thread->normal);
        n = thread->normal.len;
    }
    if (rc == 0 && model->normalized.n == 0)
        return encode_piece(model, thread, p, n, err);
    while (rc == 0 && cw_added_next(&model->normalized, &walk, p, n, &piece))
        rc = piece.id >= 0
                 ? add_id(thread, piece.id, err)
                 : encode_piece(model, thread, p + piece.begin, piece.end - piece.begin, err);
    return rc;
}

int cw_bpe_encode(const struct cw_bpe_model *model, struct cw_bpe_thread *thread, const uint8_t *p,
                  size_t n, struct cw_err *err)
{
    struct cw_added_walk walk = {0};
    struct cw_added_piece piece;
    int rc = 0;
    thread->ids.n = 0;
    if (model->raw.n == 0)
        return encode_normalized(model, thread, p, n, err);
    while (rc == 0 && cw_added_next(&model->raw, &walk, p, n, &piece))
        rc = piece.id >= 0
                 ? add_id(thread, piece.id, err)
                 : encode_normalized(model, thread, p + piece.begin, piece.end - piece.begin, err);
    return rc;
}
