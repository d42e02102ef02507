/* SPDX-License-Identifier: Apache-2.0 */
/* Reads vocab.json and merges.txt, as GPT-2 has them. */
#include <string.h>

#include "ops/text/bpe_model.h"

static int read_merge(struct cw_bpe_model *model, const char *line, size_t n, uint32_t rank,
                      struct cw_err *err)
{
    const char *space = memchr(line, ' ', n);
    const size_t left_n = space ? (size_t)(space - line) : n;
    if (!space || left_n == 0 || left_n + 1 == n || memchr(space + 1, ' ', n - left_n - 1))
        return cw_err_set(err, CW_E_CORRUPT,
                          "merge %u is not two tokens with a space between: %.*s", rank + 1,
                          (int)CW_MIN(n, 80), line);
    return cw_bpe_set_merge(model, line, left_n, space + 1, n - left_n - 1, rank, err);
}

static int read_merges(struct cw_bpe_model *model, const char *text, size_t n, struct cw_err *err)
{
    uint32_t rank = 0;
    for (size_t at = 0; at < n;) {
        const char *line = text + at, *end = memchr(line, '\n', n - at);
        size_t line_n = end ? (size_t)(end - line) : n - at;
        at += line_n + 1;
        if (line_n > 0 && line[line_n - 1] == '\r')
            line_n--;
        if (line_n >= 8 && memcmp(line, "#version", 8) == 0)
            continue;
        int rc = read_merge(model, line, line_n, rank++, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int cw_bpe_read_gpt2(struct cw_bpe_model *model, const char *vocab, size_t vocab_n,
                     const char *merges, size_t merges_n, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_value_parse(vocab, vocab_n, "the vocabulary", &value, err);
    if (rc == 0)
        rc = cw_bpe_set_vocab(model, &value, err);
    cw_value_fini(&value);
    if (rc == 0)
        rc = read_merges(model, merges, merges_n, err);
    model->pattern = cw_mem_strdup("gpt2");
    return rc == 0 ? cw_bpe_set_bytes(model, err) : rc;
}
