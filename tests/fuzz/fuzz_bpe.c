/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as files of a BPE model: a tokenizer.json, ranks, or a vocabulary with merges, as the first byte
 * says. What can be read encodes the rest of the input, behind a line with %%. With the second encoding
 * the words are remembered. The tokens of such a model are decoded as well. */
#include <string.h>

#include "base/mem.h"
#include "ops/text/bpe_decode.h"
#include "ops/text/bpe_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint8_t *find_border(const uint8_t *p, size_t n)
{
    return n > 4 ? memmem(p, n, "\n%%\n", 4) : NULL;
}

static int read_model(struct cw_bpe_model *model, int kind, const char *p, size_t n,
                      struct cw_err *err)
{
    const char *half = n > 0 ? memchr(p, '\n', n) : NULL;
    if (kind == 0)
        return cw_bpe_read_json(model, p, n, true, err);
    if (kind == 1) {
        model->pattern = cw_mem_strdup("o200k");
        return cw_bpe_read_ranks(model, p, n, err);
    }
    const size_t vocab_n = half ? (size_t)(half - p) : n;
    return cw_bpe_read_gpt2(model, p, vocab_n, half ? half : "", half ? n - vocab_n : 0, err);
}

static void encode(const struct cw_bpe_model *model, const uint8_t *p, size_t n)
{
    struct cw_bpe_thread *thread = cw_bpe_thread_new(model);
    struct cw_err err = {0};
    int rc = cw_bpe_encode(model, thread, p, n, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    const size_t ids_n = thread->ids.n;
    CW_ASSERT(cw_bpe_encode(model, thread, p, n, NULL) == rc);
    CW_ASSERT(rc < 0 || thread->ids.n == ids_n);
    cw_bpe_thread_free(thread);
}

/* What detokenize makes of the same file: each token lies within the pool. */
static void decode(const struct cw_bpe_model *model, int kind, const char *p, size_t n)
{
    struct cw_bpe_decoder decoder = {0};
    struct cw_value value = {0};
    struct cw_err err = {0};
    int rc = cw_bpe_decoder_add(&decoder, &model->tokens, kind != 1, &err);
    if (rc == 0 && kind == 0 && cw_value_parse(p, n, "", &value, NULL) == 0 &&
        value.type == CW_VALUE_OBJECT)
        rc = cw_bpe_decoder_add_added(&decoder, cw_value_get(&value, "added_tokens"), &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    for (size_t i = 0; i < model->tokens.n && rc == 0; i++) {
        const struct cw_bpe_decoded *token =
            cw_bpe_decoder_get(&decoder, model->tokens.entries[i].id);
        CW_ASSERT(token && token->at + token->n <= decoder.pool_n);
    }
    cw_value_fini(&value);
    cw_bpe_decoder_fini(&decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_bpe_model model;
    struct cw_err err = {0};
    if (n == 0)
        return 0;
    const uint8_t *border = find_border(data + 1, n - 1);
    const size_t model_n = border ? (size_t)(border - data) - 1 : n - 1;
    cw_autofree char *bytes = cw_mem_new(model_n + 1);
    memcpy(bytes, data + 1, model_n);
    cw_bpe_model_init(&model);
    int rc = read_model(&model, data[0] % 3, bytes, model_n, &err);
    if (rc == 0)
        rc = cw_scan_init(&model.scan, model.pattern, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    if (rc == 0)
        decode(&model, data[0] % 3, bytes, model_n);
    if (rc == 0 && border)
        encode(&model, border + 4, (size_t)(data + n - border) - 4);
    cw_bpe_model_fini(&model);
    return 0;
}
