/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/added.h"

#include "base/mem.h"
#include "ops/text/unicode.h"

void cw_added_init(struct cw_added *added)
{
    *added = (struct cw_added){0};
    cw_trie_init(&added->trie);
}

void cw_added_fini(struct cw_added *added)
{
    cw_trie_fini(&added->trie);
    cw_mem_free(added->tokens);
    *added = (struct cw_added){0};
}

int cw_added_add(struct cw_added *added, const char *text, size_t n, struct cw_added_token token,
                 struct cw_err *err)
{
    if (n == 0)
        return cw_err_set(err, CW_E_INVALID, "added token %d is empty", token.id);
    int rc = cw_trie_add(&added->trie, text, n, (int32_t)added->n, err);
    if (rc < 0)
        return rc;
    CW_GROW(added->tokens, added->n, added->cap);
    added->tokens[added->n++] = token;
    added->first[(uint8_t)text[0]] = true;
    return 0;
}

/* The character that ends at p + i. */
static int32_t char_before(const uint8_t *p, size_t i, size_t *ret_len)
{
    size_t from = i - 1;
    while (from > 0 && i - from < 4 && (p[from] & 0xc0) == 0x80)
        from--;
    const int32_t code = cw_char_decode(p + from, i - from, ret_len);
    if (code >= 0 && *ret_len == i - from)
        return code;
    *ret_len = 1;
    return -1;
}

static bool is_word_before(const uint8_t *p, size_t i)
{
    size_t len;
    return i > 0 && cw_char_is_word(char_before(p, i, &len));
}

static bool is_word_at(const uint8_t *p, size_t n, size_t i)
{
    size_t len;
    return i < n && cw_char_is_word(cw_char_decode(p + i, n - i, &len));
}

static size_t spaces_before(const uint8_t *p, size_t i, size_t least)
{
    size_t len;
    while (i > least && cw_char_class_of(char_before(p, i, &len)) & CW_CHAR_SPACE)
        i -= len;
    return CW_MAX(i, least);
}

static size_t spaces_behind(const uint8_t *p, size_t n, size_t i)
{
    size_t len;
    while (i < n && cw_char_at(p + i, n - i, &len) & CW_CHAR_SPACE)
        i += len;
    return i;
}

/* Finds the next token that counts. */
static const struct cw_added_token *find(const struct cw_added *added, struct cw_added_walk *walk,
                                         const uint8_t *p, size_t n, size_t *ret_begin,
                                         size_t *ret_end)
{
    for (size_t i = walk->at; i < n;) {
        int32_t which = -1;
        const size_t len =
            added->first[p[i]] ? cw_trie_longest(&added->trie, p + i, n - i, &which) : 0;
        if (len == 0) {
            i++;
            continue;
        }
        const struct cw_added_token *token = &added->tokens[which];
        walk->at = i + len;
        if (!token->single_word || (!is_word_before(p, i) && !is_word_at(p, n, i + len))) {
            *ret_begin = i;
            *ret_end = i + len;
            return token;
        }
        i += len;
    }
    walk->at = n;
    return NULL;
}

bool cw_added_next(const struct cw_added *added, struct cw_added_walk *walk, const uint8_t *p,
                   size_t n, struct cw_added_piece *ret_piece)
{
    size_t begin = n, end = n;
    if (walk->token) {
        *ret_piece =
            (struct cw_added_piece){walk->done, walk->token_end, (int32_t)(walk->token - 1)};
        walk->done = walk->token_end;
        walk->token = 0;
        return true;
    }
    if (walk->at >= n && walk->done >= n)
        return false;
    const struct cw_added_token *token = added->n ? find(added, walk, p, n, &begin, &end) : NULL;
    if (!token)
        walk->at = n;
    if (token && token->lstrip)
        begin = spaces_before(p, begin, walk->done);
    if (token && token->rstrip)
        end = spaces_behind(p, n, end);
    if (token && begin <= walk->done) {
        *ret_piece = (struct cw_added_piece){begin, end, token->id};
        walk->done = end;
        return true;
    }
    *ret_piece = (struct cw_added_piece){walk->done, begin, -1};
    walk->done = begin;
    walk->token = token ? (int64_t)token->id + 1 : 0;
    walk->token_end = end;
    return ret_piece->end > ret_piece->begin;
}
