/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ranks as tiktoken has them: a line for each token, its bytes in base64 and its rank, which is
 * its id. Two neighbours are merged if their bytes together are a token, those of the least rank
 * first; a word that is a token is not taken apart. */
#include <string.h>

#include "ops/text/bpe_model.h"

/* Longer tokens are refused: each one costs a look-up for each of its bytes. */
#define TOKEN_BYTES_MAX 1024

static int sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes n digits, without the = at their end. Returns the number of bytes, -1: it is no base64. */
static int64_t decode(const char *text, size_t n, uint8_t *out)
{
    uint32_t bits = 0;
    int bits_n = 0;
    int64_t out_n = 0;
    for (size_t i = 0; i < n; i++) {
        const int value = sextet(text[i]);
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        bits_n += 6;
        if (bits_n >= 8) {
            bits_n -= 8;
            out[out_n++] = (uint8_t)(bits >> bits_n);
        }
    }
    return n % 4 == 1 ? -1 : out_n;
}

static int read_rank(const char *text, size_t n, int64_t *ret_rank)
{
    int64_t rank = 0;
    if (n == 0 || n > 10)
        return CW_E_CORRUPT;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return CW_E_CORRUPT;
        rank = 10 * rank + (text[i] - '0');
    }
    *ret_rank = rank;
    return 0;
}

static int read_line(struct cw_bpe_model *model, const char *line, size_t n, size_t number,
                     struct cw_err *err)
{
    uint8_t bytes[TOKEN_BYTES_MAX + 4];
    int64_t rank;
    const char *space = memchr(line, ' ', n);
    size_t digits = space ? (size_t)(space - line) : 0;
    if (!space || read_rank(space + 1, n - digits - 1, &rank) < 0)
        return cw_err_set(err, CW_E_CORRUPT, "line %zu is not a token in base64 and its rank",
                          number);
    while (digits > 0 && line[digits - 1] == '=')
        digits--;
    if (digits / 4 * 3 > TOKEN_BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "line %zu: a token of more than %d bytes", number,
                          TOKEN_BYTES_MAX);
    const int64_t bytes_n = decode(line, digits, bytes);
    if (bytes_n <= 0)
        return cw_err_set(err, CW_E_CORRUPT, "line %zu: the token is not in base64, or empty",
                          number);
    int rc = cw_vocab_add(&model->tokens, bytes, (size_t)bytes_n, rank, err);
    if (rc == 0)
        return cw_err_set(err, CW_E_CORRUPT, "line %zu: its token was there before", number);
    return rc < 0 ? cw_err_wrap(err, "line %zu", number) : 0;
}

static void add_pairs(struct cw_bpe_model *model, const struct cw_vocab_entry *entry)
{
    const char *bytes = cw_vocab_bytes(&model->tokens, entry);
    for (size_t cut = 1; cut < entry->n; cut++) {
        const int32_t left = cw_vocab_find(&model->tokens, bytes, cut);
        const int32_t right =
            left < 0 ? -1 : cw_vocab_find(&model->tokens, bytes + cut, entry->n - cut);
        if (right >= 0)
            cw_bpe_add(&model->bpe, left, right, (uint32_t)entry->id, entry->id);
    }
}

static int set_model(struct cw_bpe_model *model, struct cw_err *err)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        const uint8_t b = (uint8_t)byte;
        model->bpe.of_byte[byte] = cw_vocab_find(&model->tokens, &b, 1);
        if (model->bpe.of_byte[byte] < 0)
            return cw_err_set(err, CW_E_CORRUPT, "no token is the byte 0x%02x alone", byte);
    }
    model->bpe.whole_words = true;
    for (size_t i = 0; i < model->tokens.n; i++) {
        const struct cw_vocab_entry *entry = &model->tokens.entries[i];
        add_pairs(model, entry);
        int rc = cw_vocab_add(&model->bpe.words, cw_vocab_bytes(&model->tokens, entry), entry->n,
                              entry->id, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int cw_bpe_read_ranks(struct cw_bpe_model *model, const char *ranks, size_t n, struct cw_err *err)
{
    size_t number = 0;
    for (size_t at = 0; at < n;) {
        const char *line = ranks + at, *end = memchr(line, '\n', n - at);
        size_t line_n = end ? (size_t)(end - line) : n - at;
        at += line_n + 1;
        number++;
        if (line_n > 0 && line[line_n - 1] == '\r')
            line_n--;
        int rc = line_n > 0 ? read_line(model, line, line_n, number, err) : 0;
        if (rc < 0)
            return rc;
    }
    return set_model(model, err);
}
