/* SPDX-License-Identifier: Apache-2.0 */
/* Added and special tokens: texts that are one token each, wherever they stand. They cut a text
 * before it is cut into words. The first one that begins counts, of those the longest; the rules are
 * those of the tokenizers package. */
#ifndef CW_OPS_TEXT_ADDED_H
#define CW_OPS_TEXT_ADDED_H

#include <stdbool.h>
#include "ops/text/trie.h"

struct cw_added_token {
    int32_t id;
    bool single_word;    /* it counts only where no word character stands beside it */
    bool lstrip, rstrip; /* it takes the spaces before it, behind it */
};
struct cw_added {
    struct cw_trie trie; /* its values are numbers of tokens */
    struct cw_added_token *tokens;
    size_t n, cap;
    bool first[256]; /* bytes with which tokens begin */
};
void cw_added_init(struct cw_added *added);
void cw_added_fini(struct cw_added *added);
int cw_added_add(struct cw_added *added, const char *text, size_t n, struct cw_added_token token,
                 struct cw_err *err);

/* A walk through the pieces of a text; zero-initialise it. */
struct cw_added_walk {
    size_t at, done; /* where the next token is looked for; up to where pieces were given */
    size_t token_end;
    int64_t token; /* a token that was found behind a piece of text: its id + 1 */
};
struct cw_added_piece {
    size_t begin, end;
    int32_t id; /* -1: it is text */
};
/* Returns false at the end. */
bool cw_added_next(const struct cw_added *added, struct cw_added_walk *walk, const uint8_t *p,
                   size_t n, struct cw_added_piece *ret_piece);

#endif
