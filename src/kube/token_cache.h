/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server has said of tokens, for as long as it counts. A token is known by a digest with a
 * key of this process alone, so no token is kept. The number of entries has a limit: what was refused
 * leaves before what was found good, and what was used last leaves last. It knows no clock: times come
 * as arguments. One thread. */
#ifndef CW_KUBE_TOKEN_CACHE_H
#define CW_KUBE_TOKEN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum cw_token_state {
    CW_TOKEN_NEW,  /* nothing is known yet */
    CW_TOKEN_GOOD, /* it is of the account `text` */
    CW_TOKEN_BAD,  /* it was refused, for the reason `text` */
    CW_TOKEN_AWAY  /* the server could not be asked, for the reason `text` */
};
struct cw_token_entry {
    enum cw_token_state state;
    char *text;        /* "NAMESPACE:NAME", or a reason; NULL: nothing is known yet */
    int64_t until_ms;  /* it counts until then */
    int64_t renew_ms;  /* of GOOD: from then on it is asked for again, while it still counts */
    bool asked;        /* an answer is under way: the entry stays */
    uint64_t last_use; /* a number that grows with each use */
};
#define CW_TOKEN_KEY_BYTES 32
struct cw_token_cache {
    struct cw_strmap by_digest;
    unsigned char key[CW_TOKEN_KEY_BYTES];
    size_t max;
    uint64_t uses;
};

/* Begins an empty cache of at most `max` entries. */
void cw_token_cache_init(struct cw_token_cache *cache, size_t max);
void cw_token_cache_fini(struct cw_token_cache *cache);
/* Lends the token's entry; NULL: there is none. */
struct cw_token_entry *cw_token_cache_find(struct cw_token_cache *cache, const char *token);
/* Makes an entry for a token that has none; another may leave for it. NULL: all are asked about. */
struct cw_token_entry *cw_token_cache_add(struct cw_token_cache *cache, const char *token);
/* Whether the entry says something now. */
bool cw_token_entry_counts(const struct cw_token_entry *entry, int64_t now_ms);
/* Whether the server should be asked about it now. */
bool cw_token_entry_is_due(const struct cw_token_entry *entry, int64_t now_ms);
/* Puts down what was found; the text is copied. */
void cw_token_entry_set(struct cw_token_entry *entry, enum cw_token_state state, const char *text,
                        int64_t until_ms, int64_t renew_ms);

#endif
