/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/wordpiece.h"

#include <string.h>
#include <utf8proc.h>

#include "ops/text/unicode.h"

void cw_wordpiece_init(struct cw_wordpiece *model)
{
    *model = (struct cw_wordpiece){.unk = -1};
    cw_trie_init(&model->first);
    cw_trie_init(&model->rest);
    cw_added_init(&model->special);
}

void cw_wordpiece_fini(struct cw_wordpiece *model)
{
    cw_vocab_fini(&model->tokens);
    cw_trie_fini(&model->first);
    cw_trie_fini(&model->rest);
    cw_added_fini(&model->special);
}

static int add_token(struct cw_wordpiece *model, const char *token, size_t n, int64_t id,
                     const char *prefix, struct cw_err *err)
{
    const size_t prefix_n = strlen(prefix);
    int rc = cw_vocab_add(&model->tokens, token, n, id, err);
    if (rc == 0)
        return cw_err_set(err, CW_E_CORRUPT, "line %lld: \"%.*s\" was there before",
                          (long long)id + 1, (int)CW_MIN(n, 80), token);
    if (rc > 0 && n > 0)
        rc = cw_trie_add(&model->first, token, n, (int32_t)id, err);
    if (rc == 0 && n > prefix_n && memcmp(token, prefix, prefix_n) == 0)
        rc = cw_trie_add(&model->rest, token + prefix_n, n - prefix_n, (int32_t)id, err);
    return CW_MIN(rc, 0);
}

int cw_wordpiece_read(struct cw_wordpiece *model, const char *text, size_t n, const char *prefix,
                      const char *unk, struct cw_err *err)
{
    int64_t id = 0;
    for (size_t at = 0; at < n; id++) {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        size_t line_n = end ? (size_t)(end - line) : n - at;
        at += line_n + 1;
        while (line_n > 0 && (line[line_n - 1] == '\r' || line[line_n - 1] == ' '))
            line_n--;
        int rc = add_token(model, line, line_n, id, prefix, err);
        if (rc < 0)
            return rc;
    }
    model->unk = cw_vocab_find(&model->tokens, unk, strlen(unk));
    return model->unk >= 0
               ? 0
               : cw_err_set(err, CW_E_CORRUPT,
                            "the token for unknown words, \"%.80s\", is not in it", unk);
}

struct cw_wordpiece_thread *cw_wordpiece_thread_new(void)
{
    return CW_NEW(struct cw_wordpiece_thread);
}

void cw_wordpiece_thread_free(struct cw_wordpiece_thread *thread)
{
    if (!thread)
        return;
    cw_str_fini(&thread->clean);
    cw_str_fini(&thread->normal);
    cw_str_fini(&thread->word);
    cw_ids_fini(&thread->ids);
    cw_mem_free(thread);
}

static bool is_punctuation(int32_t code)
{
    if (code < 128)
        return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) ||
               (code >= 91 && code <= 96) || (code >= 123 && code <= 126);
    const utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/* Encodes a word; there is room for as many tokens as it has bytes. */
static void encode_word(const struct cw_wordpiece *model, struct cw_ids *ids, const uint8_t *p,
                        size_t n, int64_t chars)
{
    const size_t before = ids->n;
    for (size_t at = 0; at < n && chars <= model->word_chars_max;) {
        int32_t id = model->unk;
        const size_t len = cw_trie_longest(at ? &model->rest : &model->first, p + at, n - at, &id);
        if (len == 0)
            break;
        ids->v[ids->n++] = id;
        at += len;
        if (at == n)
            return;
    }
    ids->n = before;
    ids->v[ids->n++] = model->unk;
}

/* Cuts a clean text into words. */
static int encode_words(const struct cw_wordpiece *model, struct cw_ids *ids, const uint8_t *p,
                        size_t n, struct cw_err *err)
{
    size_t begin = 0, len;
    int64_t chars = 0;
    int rc = cw_ids_reserve(ids, n, err);
    for (size_t i = 0; rc == 0 && i < n; i += len) {
        const int32_t code = cw_char_decode(p + i, n - i, &len);
        const bool is_space = cw_char_class_of(code) & CW_CHAR_SPACE;
        if (!is_space && !is_punctuation(code)) {
            chars++;
            continue;
        }
        if (i > begin)
            encode_word(model, ids, p + begin, i - begin, chars);
        if (!is_space)
            encode_word(model, ids, p + i, len, 1);
        begin = i + len;
        chars = 0;
    }
    if (rc == 0 && n > begin)
        encode_word(model, ids, p + begin, n - begin, chars);
    return rc;
}

static int encode_piece(const struct cw_wordpiece *model, struct cw_wordpiece_thread *thread,
                        const uint8_t *p, size_t n, struct cw_err *err)
{
    int rc = cw_wordpiece_clean(model, thread, p, n, err);
    return rc < 0 ? rc
                  : encode_words(model, &thread->ids, (const uint8_t *)cw_str_text(&thread->normal),
                                 thread->normal.len, err);
}

int cw_wordpiece_encode(const struct cw_wordpiece *model, struct cw_wordpiece_thread *thread,
                        const uint8_t *p, size_t n, struct cw_err *err)
{
    struct cw_added_walk walk = {0};
    struct cw_added_piece piece;
    int rc = 0;
    thread->ids.n = 0;
    if (model->special.n == 0)
        return encode_piece(model, thread, p, n, err);
    while (rc == 0 && cw_added_next(&model->special, &walk, p, n, &piece)) {
        if (piece.id < 0)
            rc = encode_piece(model, thread, p + piece.begin, piece.end - piece.begin, err);
        else if ((rc = cw_ids_reserve(&thread->ids, 1, err)) == 0)
            thread->ids.v[thread->ids.n++] = piece.id;
    }
    return rc;
}
