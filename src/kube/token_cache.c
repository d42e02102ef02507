/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/token_cache.h"

#include <string.h>

#include "auth/secret.h"
#include "auth/sign.h"
#include "base/mem.h"
#include "base/str.h"

#define DIGEST_BYTES (2 * CW_SHA256_BYTES + 1)

void cw_token_cache_init(struct cw_token_cache *cache, size_t max)
{
    *cache = (struct cw_token_cache){.max = max};
    cw_secret_make(cache->key, sizeof(cache->key));
}

static void free_entry(struct cw_token_entry *entry)
{
    cw_mem_free(entry->text);
    cw_mem_free(entry);
}

void cw_token_cache_fini(struct cw_token_cache *cache)
{
    void *entry;
    for (size_t i = 0; cw_strmap_next(&cache->by_digest, &i, NULL, &entry);)
        free_entry(entry);
    cw_strmap_fini(&cache->by_digest);
    explicit_bzero(cache->key, sizeof(cache->key));
}

static void digest_of(const struct cw_token_cache *cache, const char *token,
                      char ret_digest[DIGEST_BYTES])
{
    uint8_t sum[CW_SHA256_BYTES];
    CW_STR_AUTO hex = {0};
    cw_hmac_sha256(cache->key, sizeof(cache->key), token, strlen(token), sum);
    cw_sign_add_hex(&hex, sum, sizeof(sum));
    memcpy(ret_digest, cw_str_text(&hex), DIGEST_BYTES);
}

struct cw_token_entry *cw_token_cache_find(struct cw_token_cache *cache, const char *token)
{
    char digest[DIGEST_BYTES];
    digest_of(cache, token, digest);
    struct cw_token_entry *entry = cw_strmap_get(&cache->by_digest, digest);
    if (entry)
        entry->last_use = ++cache->uses;
    return entry;
}

/* Whether a should leave before b. */
static bool leaves_before(const struct cw_token_entry *a, const struct cw_token_entry *b)
{
    bool a_good = a->state == CW_TOKEN_GOOD, b_good = b->state == CW_TOKEN_GOOD;
    return a_good != b_good ? b_good : a->last_use < b->last_use;
}

static bool make_room(struct cw_token_cache *cache)
{
    const char *digest, *last = NULL;
    struct cw_token_entry *leaves = NULL;
    void *value;
    if (cache->by_digest.n < cache->max)
        return true;
    for (size_t i = 0; cw_strmap_next(&cache->by_digest, &i, &digest, &value);) {
        struct cw_token_entry *entry = value;
        if (entry->asked || (leaves && !leaves_before(entry, leaves)))
            continue;
        leaves = entry;
        last = digest;
    }
    if (!leaves)
        return false;
    (void)cw_strmap_remove(&cache->by_digest, last);
    free_entry(leaves);
    return true;
}

struct cw_token_entry *cw_token_cache_add(struct cw_token_cache *cache, const char *token)
{
    char digest[DIGEST_BYTES];
    if (!make_room(cache))
        return NULL;
    struct cw_token_entry *entry = CW_NEW(struct cw_token_entry);
    entry->last_use = ++cache->uses;
    digest_of(cache, token, digest);
    CW_ASSERT(!cw_strmap_set(&cache->by_digest, digest, entry));
    return entry;
}

bool cw_token_entry_counts(const struct cw_token_entry *entry, int64_t now_ms)
{
    return entry->state != CW_TOKEN_NEW && now_ms < entry->until_ms;
}

bool cw_token_entry_is_due(const struct cw_token_entry *entry, int64_t now_ms)
{
    if (entry->asked)
        return false;
    return !cw_token_entry_counts(entry, now_ms) ||
           (entry->state == CW_TOKEN_GOOD && now_ms >= entry->renew_ms);
}

void cw_token_entry_set(struct cw_token_entry *entry, enum cw_token_state state, const char *text,
                        int64_t until_ms, int64_t renew_ms)
{
    char *copy = cw_mem_strdup(text);
    cw_mem_free(entry->text);
    entry->state = state;
    entry->text = copy;
    entry->until_ms = until_ms;
    entry->renew_ms = renew_ms;
}
