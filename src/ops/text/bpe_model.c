/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/bpe_model.h"

#include <string.h>

#include "ops/text/unicode.h"

void cw_bpe_model_init(struct cw_bpe_model *model)
{
    *model = (struct cw_bpe_model){.form = CW_FORM_NONE};
    cw_bpe_init(&model->bpe);
    cw_added_init(&model->raw);
    cw_added_init(&model->normalized);
}

void cw_bpe_model_fini(struct cw_bpe_model *model)
{
    cw_bpe_fini(&model->bpe);
    cw_vocab_fini(&model->tokens);
    cw_added_fini(&model->raw);
    cw_added_fini(&model->normalized);
    cw_scan_fini(&model->scan);
    cw_mem_free(model->pattern);
}

/* ---- bytes as characters ---- */

static bool is_itself(unsigned byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

/* GPT-2 writes each byte as a character that can be seen: this is the character of each. */
static void byte_characters(int32_t ret_codes[256])
{
    int32_t next = 256;
    for (unsigned byte = 0; byte < 256; byte++)
        ret_codes[byte] = is_itself(byte) ? (int32_t)byte : next++;
}

/* The bytes that a token's text stands for. Returns their number; -1: some character is of no
 * byte. */
static int64_t token_bytes(const int16_t of_code[512], const char *text, size_t n, uint8_t *out)
{
    int64_t bytes_n = 0;
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        const int32_t code = cw_char_decode((const uint8_t *)text + i, n - i, &len);
        if (code < 0 || code >= 512 || of_code[code] < 0)
            return -1;
        out[bytes_n++] = (uint8_t)of_code[code];
    }
    return bytes_n;
}

static int set_words(struct cw_bpe_model *model, const int16_t of_code[512], struct cw_err *err)
{
    CW_STR_AUTO bytes = {0};
    for (size_t i = 0; i < model->tokens.n; i++) {
        const struct cw_vocab_entry *entry = &model->tokens.entries[i];
        cw_str_clear(&bytes);
        cw_str_add_bytes(&bytes, cw_vocab_bytes(&model->tokens, entry), entry->n);
        const int64_t n = token_bytes(of_code, cw_str_text(&bytes), bytes.len, (uint8_t *)bytes.s);
        int rc = n > 0 ? cw_vocab_add(&model->bpe.words, bytes.s, (size_t)n, entry->id, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* The byte of each character; -1: it is of none. */
static void bytes_of_characters(const int32_t codes[256], int16_t ret_of_code[512])
{
    memset(ret_of_code, 0xff, 512 * sizeof(ret_of_code[0]));
    for (unsigned byte = 0; byte < 256; byte++)
        ret_of_code[codes[byte]] = (int16_t)byte;
}

int64_t cw_bpe_token_bytes(const char *text, size_t n, uint8_t *out)
{
    int32_t codes[256];
    int16_t of_code[512];
    byte_characters(codes);
    bytes_of_characters(codes, of_code);
    return token_bytes(of_code, text, n, out);
}

int cw_bpe_set_bytes(struct cw_bpe_model *model, struct cw_err *err)
{
    int32_t codes[256];
    int16_t of_code[512];
    byte_characters(codes);
    bytes_of_characters(codes, of_code);
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t text[4];
        const size_t n = cw_char_encode(codes[byte], text);
        model->bpe.of_byte[byte] = cw_vocab_find(&model->tokens, text, n);
    }
    return model->bpe.whole_words ? set_words(model, of_code, err) : 0;
}

int cw_bpe_set_vocab(struct cw_bpe_model *model, const struct cw_value *vocab, struct cw_err *err)
{
    if (vocab->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_CORRUPT, "the vocabulary is %s, not an object",
                          cw_value_type_name(vocab->type));
    for (size_t i = 0; i < vocab->n; i++) {
        if (vocab->items[i].type != CW_VALUE_I64)
            return cw_err_set(err, CW_E_CORRUPT, "the id of token \"%.80s\" is %s", vocab->keys[i],
                              cw_value_type_name(vocab->items[i].type));
        int rc = cw_vocab_add(&model->tokens, vocab->keys[i], strlen(vocab->keys[i]),
                              vocab->items[i].i, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int cw_bpe_set_merge(struct cw_bpe_model *model, const char *left, size_t left_n, const char *right,
                     size_t right_n, uint32_t rank, struct cw_err *err)
{
    CW_STR_AUTO both = {0};
    cw_str_add_bytes(&both, left, left_n);
    cw_str_add_bytes(&both, right, right_n);
    const int32_t a = cw_vocab_find(&model->tokens, left, left_n);
    const int32_t b = cw_vocab_find(&model->tokens, right, right_n);
    const int32_t id = cw_vocab_find(&model->tokens, cw_str_text(&both), both.len);
    if (a < 0 || b < 0 || id < 0) {
        const char *none = a < 0 ? left : b < 0 ? right : cw_str_text(&both);
        const size_t none_n = a < 0 ? left_n : b < 0 ? right_n : both.len;
        return cw_err_set(err, CW_E_CORRUPT,
                          "merge %u, \"%.*s\" and \"%.*s\": no token of the vocabulary is \"%.*s\"",
                          rank + 1, (int)CW_MIN(left_n, 80), left, (int)CW_MIN(right_n, 80), right,
                          (int)CW_MIN(none_n, 80), none);
    }
    cw_bpe_add(&model->bpe, a, b, rank, id);
    return 0;
}

/* ---- special tokens of the option ---- */

static int special_id(const struct cw_bpe_model *model, const struct cw_value *special, size_t i,
                      const char **ret_text, int64_t *ret_id, struct cw_err *err)
{
    const struct cw_value *item = &special->items[i];
    const bool is_list = special->type == CW_VALUE_LIST;
    if (item->type != (is_list ? CW_VALUE_STR : CW_VALUE_I64))
        return cw_err_set(err, CW_E_INVALID, "option special: item %zu is %s, not %s", i,
                          cw_value_type_name(item->type), is_list ? "a string" : "an id");
    *ret_text = is_list ? item->s : special->keys[i];
    *ret_id = is_list ? cw_vocab_find(&model->tokens, item->s, strlen(item->s)) : item->i;
    if (*ret_id < 0 || *ret_id > INT32_MAX)
        return cw_err_set(err, CW_E_INVALID, "option special: \"%.80s\" %s", *ret_text,
                          is_list ? "is not in the vocabulary" : "has no id in 0 to 2147483647");
    return 0;
}

int cw_bpe_set_special(struct cw_bpe_model *model, const struct cw_value *special,
                       struct cw_err *err)
{
    for (size_t i = 0; i < special->n; i++) {
        const char *text = NULL;
        int64_t id = -1;
        int rc = special_id(model, special, i, &text, &id, err);
        if (rc == 0)
            rc = cw_added_add(&model->raw, text, strlen(text),
                              (struct cw_added_token){.id = (int32_t)id}, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
