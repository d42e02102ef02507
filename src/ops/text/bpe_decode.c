/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/bpe_decode.h"

#include <string.h>

#include "base/mem.h"
#include "ops/text/bpe_model.h"

void cw_bpe_decoder_fini(struct cw_bpe_decoder *decoder)
{
    cw_mem_free(decoder->tokens);
    cw_mem_free(decoder->pool);
    *decoder = (struct cw_bpe_decoder){0};
}

/* Makes room for a token of this id. */
static int reserve(struct cw_bpe_decoder *decoder, int64_t id, struct cw_err *err)
{
    if (id < 0 || id >= CW_BPE_DECODE_IDS)
        return cw_err_set(err, CW_E_LIMIT, "token id %lld: at most %lld", (long long)id,
                          (long long)CW_BPE_DECODE_IDS - 1);
    if ((size_t)id < decoder->n)
        return 0;
    const size_t n = CW_MAX((size_t)id + 1, 2 * decoder->n);
    decoder->tokens = cw_mem_grow(decoder->tokens, n, sizeof(*decoder->tokens));
    for (size_t i = decoder->n; i < n; i++)
        decoder->tokens[i] = (struct cw_bpe_decoded){.n = UINT32_MAX};
    decoder->n = n;
    return 0;
}

int cw_bpe_decoder_add_one(struct cw_bpe_decoder *decoder, const char *text, size_t n, int64_t id,
                           bool is_spelled, struct cw_err *err)
{
    int rc = reserve(decoder, id, err);
    if (rc < 0 || decoder->tokens[id].n != UINT32_MAX)
        return rc;
    if (n > decoder->pool_cap - decoder->pool_n) {
        decoder->pool_cap = CW_MAX(2 * decoder->pool_cap, decoder->pool_n + n + 4096);
        decoder->pool = cw_mem_grow(decoder->pool, decoder->pool_cap, 1);
    }
    char *to = decoder->pool + decoder->pool_n;
    const int64_t bytes = is_spelled ? cw_bpe_token_bytes(text, n, (uint8_t *)to) : -1;
    if (bytes < 0 && n > 0)
        memcpy(to, text, n);
    const size_t used = bytes < 0 ? n : (size_t)bytes;
    decoder->tokens[id].at = decoder->pool_n;
    decoder->tokens[id].n = (uint32_t)used;
    decoder->pool_n += used;
    return 0;
}

int cw_bpe_decoder_add(struct cw_bpe_decoder *decoder, const struct cw_vocab *tokens,
                       bool is_spelled, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < tokens->n; i++)
        rc = cw_bpe_decoder_add_one(decoder, cw_vocab_bytes(tokens, &tokens->entries[i]),
                                    tokens->entries[i].n, tokens->entries[i].id, is_spelled, err);
    return rc;
}

void cw_bpe_decoder_mark(struct cw_bpe_decoder *decoder, int64_t id)
{
    if (id >= 0 && (size_t)id < decoder->n)
        decoder->tokens[id].special = true;
}

int cw_bpe_decoder_add_added(struct cw_bpe_decoder *decoder, const struct cw_value *added,
                             struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; added && added->type == CW_VALUE_LIST && rc == 0 && i < added->n; i++) {
        const struct cw_value *item = &added->items[i];
        const bool is_object = item->type == CW_VALUE_OBJECT;
        const struct cw_value *id = is_object ? cw_value_get(item, "id") : NULL,
                              *content = is_object ? cw_value_get(item, "content") : NULL,
                              *special = is_object ? cw_value_get(item, "special") : NULL;
        if (!id || id->type != CW_VALUE_I64 || !content || content->type != CW_VALUE_STR)
            return cw_err_set(err, CW_E_CORRUPT, "added token %zu has no id and content", i);
        rc = cw_bpe_decoder_add_one(decoder, content->s, strlen(content->s), id->i, true, err);
        if (rc == 0 && special && special->type == CW_VALUE_BOOL && special->b)
            cw_bpe_decoder_mark(decoder, id->i);
    }
    return rc;
}
