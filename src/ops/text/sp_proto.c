/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the .model files of SentencePiece: a ModelProto of protocol buffers, of which only what decides
 * ids is looked at (sentencepiece_model.proto of the library has the numbers). */
#include <math.h>
#include <string.h>

#include "ops/text/sp_model.h"

struct field {
    uint32_t number, wire;
    uint64_t value; /* of a varint or fixed field */
    const uint8_t *p;
    size_t n; /* of a field with a length */
};
struct reader {
    const uint8_t *p, *end;
};

static bool read_varint(struct reader *r, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
        const uint8_t byte = *r->p++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool read_fixed(struct reader *r, size_t n, uint64_t *ret_value)
{
    if ((size_t)(r->end - r->p) < n)
        return false;
    *ret_value = 0;
    for (size_t i = 0; i < n; i++)
        *ret_value |= (uint64_t)r->p[i] << 8 * i;
    r->p += n;
    return true;
}

static bool read_bytes(struct reader *r, struct field *field)
{
    uint64_t n;
    if (!read_varint(r, &n) || n > (uint64_t)(r->end - r->p))
        return false;
    field->p = r->p;
    field->n = (size_t)n;
    r->p += n;
    return true;
}

/* Returns 1 and a field, 0 at the end, or CORRUPT. */
static int next_field(struct reader *r, struct field *field, struct cw_err *err)
{
    uint64_t key;
    bool good = false;
    if (r->p >= r->end)
        return 0;
    *field = (struct field){0};
    if (read_varint(r, &key) && key >> 3 <= UINT32_MAX) {
        field->number = (uint32_t)(key >> 3);
        field->wire = (uint32_t)(key & 7);
        if (field->wire == 0)
            good = read_varint(r, &field->value);
        else if (field->wire == 1 || field->wire == 5)
            good = read_fixed(r, field->wire == 1 ? 8 : 4, &field->value);
        else if (field->wire == 2)
            good = read_bytes(r, field);
    }
    return good ? 1 : cw_err_set(err, CW_E_CORRUPT, "it is no model of SentencePiece, or was cut");
}

static float as_float(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, 4);
    return value;
}

/* ---- pieces ---- */

static int byte_of_piece(const struct field *text)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *p = (const char *)text->p;
    if (text->n != 6 || memcmp(p, "<0x", 3) != 0 || p[5] != '>' || !p[3] || !p[4])
        return -1;
    const char *high = strchr(digits, p[3]), *low = strchr(digits, p[4]);
    return high && low ? (int)(high - digits) * 16 + (int)(low - digits) : -1;
}

static int note_piece(struct cw_sp_model *model, const struct field *text, int32_t id,
                      uint64_t type, struct cw_err *err)
{
    const int byte = type == CW_SP_BYTE ? byte_of_piece(text) : -1;
    if (type == CW_SP_BYTE && byte < 0)
        return cw_err_set(err, CW_E_CORRUPT, "piece %d is a byte, but not written as one", id);
    if (byte >= 0)
        model->of_byte[byte] = id;
    if (type == CW_SP_UNKNOWN && model->unk >= 0)
        return cw_err_set(err, CW_E_CORRUPT, "pieces %d and %d are both unknown", model->unk, id);
    if (type == CW_SP_UNKNOWN)
        model->unk = id;
    model->has_unused = model->has_unused || type == CW_SP_UNUSED;
    if (type != CW_SP_USER_DEFINED)
        return 0;
    model->user_n++;
    return cw_trie_add(&model->user, text->p, text->n, id, err);
}

static int add_piece(struct cw_sp_model *model, const struct field *text, float score,
                     uint64_t type, struct cw_err *err)
{
    const int32_t id = (int32_t)model->n;
    const bool is_normal =
        type == CW_SP_NORMAL || type == CW_SP_USER_DEFINED || type == CW_SP_UNUSED;
    if (text->n == 0 || type < CW_SP_NORMAL || type > CW_SP_BYTE || !isfinite(score))
        return cw_err_set(err, CW_E_CORRUPT, "piece %d is empty, of no known type, or has no score",
                          id);
    int rc = cw_vocab_add(is_normal ? &model->pieces : &model->reserved, text->p, text->n, id, err);
    if (rc == 0)
        return cw_err_set(err, CW_E_CORRUPT, "piece %d, \"%.*s\", was there before", id,
                          (int)CW_MIN(text->n, 80), (const char *)text->p);
    if (rc < 0)
        return rc;
    if (model->n >= model->cap) {
        model->cap = CW_MAX(2 * model->cap, 1024);
        model->scores = cw_mem_grow(model->scores, model->cap, sizeof(float));
        model->types = cw_mem_grow(model->types, model->cap, 1);
    }
    model->scores[model->n] = score;
    model->types[model->n++] = (uint8_t)type;
    return note_piece(model, text, id, type, err);
}

static int read_piece(struct cw_sp_model *model, const struct field *message, struct cw_err *err)
{
    struct reader r = {message->p, message->p + message->n};
    struct field field, text = {0};
    float score = 0;
    uint64_t type = CW_SP_NORMAL;
    int rc;
    while ((rc = next_field(&r, &field, err)) > 0) {
        if (field.number == 1 && field.wire == 2)
            text = field;
        else if (field.number == 2 && field.wire == 5)
            score = as_float(field.value);
        else if (field.number == 3 && field.wire == 0)
            type = field.value;
    }
    return rc < 0 ? rc : add_piece(model, &text, score, type, err);
}

/* ---- the other parts ---- */

static int read_trainer(struct cw_sp_model *model, const struct field *message, struct cw_err *err)
{
    struct reader r = {message->p, message->p + message->n};
    struct field field;
    int rc;
    while ((rc = next_field(&r, &field, err)) > 0) {
        if (field.number == 3 && field.wire == 0) {
            if (field.value != CW_SP_UNIGRAM && field.value != CW_SP_BPE)
                return cw_err_set(err, CW_E_UNSUPPORTED,
                                  "its type is neither unigram (1) nor BPE (2), but %llu",
                                  (unsigned long long)field.value);
            model->kind = (enum cw_sp_kind)field.value;
        } else if (field.number == 24) {
            model->whitespace_as_suffix = field.value != 0;
        } else if (field.number == 35) {
            model->byte_fallback = field.value != 0;
        }
    }
    return rc;
}

/* <bytes of the double array: u32> <double array> <texts> */
static int set_charsmap(struct cw_sp_model *model, const struct field *blob, struct cw_err *err)
{
    uint64_t bytes = 0;
    struct reader r = {blob->p, blob->p + blob->n};
    if (blob->n == 0)
        return 0;
    if (!read_fixed(&r, 4, &bytes) || bytes % 4 != 0 || bytes == 0 ||
        bytes >= (uint64_t)(r.end - r.p) || r.end[-1] != 0)
        return cw_err_set(err, CW_E_CORRUPT, "the table of its normaliser is broken");
    cw_mem_free(model->darts);
    cw_mem_free(model->replacements);
    model->darts_n = (size_t)bytes / 4;
    model->darts = CW_NEW_ARRAY(uint32_t, model->darts_n);
    for (size_t i = 0; i < model->darts_n; i++) {
        uint64_t unit = 0;
        (void)read_fixed(&r, 4, &unit);
        model->darts[i] = (uint32_t)unit;
    }
    model->replacements_n = (size_t)(r.end - r.p);
    model->replacements = cw_mem_dup(r.p, model->replacements_n);
    return 0;
}

static int read_normalizer(struct cw_sp_model *model, const struct field *message,
                           struct cw_err *err)
{
    struct reader r = {message->p, message->p + message->n};
    struct field field;
    int rc;
    while ((rc = next_field(&r, &field, err)) > 0) {
        if (field.number == 2 && field.wire == 2)
            rc = set_charsmap(model, &field, err);
        else if (field.number == 3)
            model->add_dummy_prefix = field.value != 0;
        else if (field.number == 4)
            model->remove_extra_whitespaces = field.value != 0;
        else if (field.number == 5)
            model->escape_whitespaces = field.value != 0;
        if (rc < 0)
            break;
    }
    return rc;
}

int cw_sp_read(struct cw_sp_model *model, const uint8_t *p, size_t n, struct cw_err *err)
{
    struct reader r = {p, p + n};
    struct field field;
    int rc;
    while ((rc = next_field(&r, &field, err)) > 0) {
        if (field.wire != 2)
            continue;
        if (field.number == 1)
            rc = read_piece(model, &field, err);
        else if (field.number == 2)
            rc = read_trainer(model, &field, err);
        else if (field.number == 3)
            rc = read_normalizer(model, &field, err);
        if (rc < 0)
            break;
    }
    return rc < 0 ? rc : cw_sp_finish(model, err);
}
