/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/fates.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

/* Fates of more bytes do not travel in manifests: they are found where indices are kept. */
#define TEXT_BYTES_MAX ((size_t)1 << 20)

/* ---- fates ---- */

bool cw_fates_init(struct cw_fates *fates, uint64_t n, enum cw_fates_kind kind)
{
    const size_t bytes = cw_fates_bytes(n) + 1, values = ((size_t)n + 1) * sizeof(*fates->values);
    *fates = (struct cw_fates){
        .n = n, .kind = kind, .kept = cw_mem_try(bytes), .bad = cw_mem_try(bytes)};
    if (kind != CW_FATES_ALONE)
        fates->values = cw_mem_try(values);
    if (!fates->kept || !fates->bad || (kind != CW_FATES_ALONE && !fates->values)) {
        cw_fates_fini(fates);
        return false;
    }
    memset(fates->kept, 0, bytes);
    memset(fates->bad, 0, bytes);
    if (fates->values)
        memset(fates->values, 0, values);
    return true;
}

void cw_fates_fini(struct cw_fates *fates)
{
    cw_mem_free(fates->kept);
    cw_mem_free(fates->bad);
    cw_mem_free(fates->values);
    *fates = (struct cw_fates){0};
}

uint64_t cw_fates_count(const uint8_t *bits, uint64_t n)
{
    uint64_t set = 0;
    for (size_t i = 0; i < cw_fates_bytes(n); i++)
        set += (uint64_t)__builtin_popcount(bits[i]);
    return set;
}

/* Returns how many bytes the numbers of parts have. */
static size_t width_of(const struct cw_fates *fates)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < fates->n; i++)
        most = CW_MAX(most, fates->values[i]);
    return most > UINT16_MAX ? 4 : most > UINT8_MAX ? 2 : 1;
}

static void write_parts(const struct cw_fates *fates, struct cw_str *out)
{
    const size_t width = width_of(fates);
    cw_str_add_char(out, (char)width);
    for (uint64_t i = 0; i < fates->n; i++) {
        const uint64_t parts = htole64(fates->values[i]);
        cw_str_add_bytes(out, &parts, width);
    }
}

void cw_fates_write(const struct cw_fates *fates, struct cw_str *out)
{
    const size_t n = cw_fates_bytes(fates->n);
    for (uint64_t i = 0; fates->kind == CW_FATES_VALUES && i < fates->n; i++) {
        const uint64_t value = htole64(fates->values[i]);
        cw_str_add_bytes(out, &value, sizeof(value));
    }
    if (fates->kind == CW_FATES_PARTS)
        write_parts(fates, out);
    else
        cw_str_add_bytes(out, fates->kept, n);
    if (cw_fates_count(fates->bad, fates->n) > 0)
        cw_str_add_bytes(out, fates->bad, n);
}

/* Whether no element has two fates, and there is nothing behind the last one. */
static bool are_sound(const struct cw_fates *fates)
{
    const size_t n = cw_fates_bytes(fates->n);
    for (size_t i = 0; i < n; i++)
        if (fates->kept[i] & fates->bad[i])
            return false;
    return fates->n % 8 == 0 || (fates->kept[n - 1] | fates->bad[n - 1]) >> fates->n % 8 == 0;
}

/* Returns how many bytes stand before the bits of what is bad; 0: these are no fates. */
static size_t head_bytes(const uint8_t *bytes, size_t bytes_n, uint64_t n, enum cw_fates_kind kind)
{
    if (kind != CW_FATES_PARTS)
        return cw_fates_bytes(n) + (kind == CW_FATES_VALUES ? (size_t)n * 8 : 0);
    return bytes_n > 0 && (bytes[0] == 1 || bytes[0] == 2 || bytes[0] == 4)
               ? 1 + (size_t)n * bytes[0]
               : 0;
}

static void read_values(const uint8_t *bytes, size_t width, struct cw_fates *fates)
{
    for (uint64_t i = 0; i < fates->n; i++) {
        uint64_t value = 0;
        memcpy(&value, bytes + i * width, width);
        fates->values[i] = le64toh(value);
    }
}

/* Reads what stands before the bits of what is bad. Returns false if it would be written in another way. */
static bool read_head(const uint8_t *bytes, struct cw_fates *fates)
{
    const uint8_t *bits = bytes;
    if (fates->kind == CW_FATES_PARTS) {
        read_values(bytes + 1, bytes[0], fates);
        for (uint64_t i = 0; i < fates->n; i++)
            fates->kept[i / 8] |= (uint8_t)((fates->values[i] > 0) << i % 8);
        return width_of(fates) == bytes[0];
    }
    if (fates->kind == CW_FATES_VALUES) {
        read_values(bytes, 8, fates);
        bits += fates->n * 8;
    }
    if (fates->n > 0)
        memcpy(fates->kept, bits, cw_fates_bytes(fates->n));
    return true;
}

bool cw_fates_read(const uint8_t *bytes, size_t bytes_n, uint64_t n, enum cw_fates_kind kind,
                   struct cw_fates *ret_fates)
{
    struct cw_fates fates;
    const size_t half = cw_fates_bytes(n), head = head_bytes(bytes, bytes_n, n, kind);
    const bool has_bad = half > 0 && bytes_n == head + half;
    if ((head == 0 && n > 0) || (kind == CW_FATES_PARTS && bytes_n == 0) ||
        (bytes_n != head && !has_bad) || !cw_fates_init(&fates, n, kind))
        return false;
    bool is_read = read_head(bytes, &fates);
    if (has_bad)
        memcpy(fates.bad, bytes + head, half);
    if (!is_read || !are_sound(&fates) || (has_bad && cw_fates_count(fates.bad, n) == 0)) {
        cw_fates_fini(&fates);
        return false;
    }
    *ret_fates = fates;
    return true;
}

/* ---- digits ---- */

void cw_hex_add(const uint8_t *bytes, size_t n, struct cw_str *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const char two[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        cw_str_add_bytes(out, two, 2);
    }
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool cw_hex_read(const char *text, uint8_t *ret_bytes, size_t n)
{
    if (strlen(text) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- manifests ---- */

void cw_survey_note_of(const struct cw_fates *fates, bool skips_bad,
                       struct cw_survey_note *ret_note)
{
    CW_STR_AUTO bytes = {0};
    CW_STR_AUTO text = {0};
    cw_fates_write(fates, &bytes);
    uint64_t parts_n = 0;
    for (uint64_t i = 0; fates->kind == CW_FATES_PARTS && i < fates->n; i++)
        parts_n += fates->values[i];
    *ret_note = (struct cw_survey_note){.n = fates->n,
                                        .kept_n = cw_fates_count(fates->kept, fates->n),
                                        .bad_n = cw_fates_count(fates->bad, fates->n),
                                        .parts_n = parts_n,
                                        .skips_bad = skips_bad,
                                        .sum = cw_hash_bytes(cw_str_text(&bytes), bytes.len)};
    if (bytes.len > TEXT_BYTES_MAX)
        return;
    cw_hex_add((const uint8_t *)cw_str_text(&bytes), bytes.len, &text);
    ret_note->text = cw_mem_strdup(cw_str_text(&text));
}

void cw_survey_note_copy(const struct cw_survey_note *note, struct cw_survey_note *ret_note)
{
    *ret_note = *note;
    ret_note->text = cw_mem_strdup(note->text);
}

void cw_survey_note_fini(struct cw_survey_note *note)
{
    cw_mem_free(note->text);
    *note = (struct cw_survey_note){0};
}

void cw_survey_note_write(const struct cw_survey_note *note, struct cw_value *manifest)
{
    char sum[CW_HASH_TEXT_BYTES];
    cw_hash_text(note->sum, sum);
    struct cw_value *said = cw_value_member(manifest, "survey");
    cw_value_set_object(said);
    cw_value_set_i64(cw_value_member(said, "elements"), (int64_t)note->n);
    cw_value_set_i64(cw_value_member(said, "kept"), (int64_t)note->kept_n);
    cw_value_set_i64(cw_value_member(said, "bad"), (int64_t)note->bad_n);
    if (note->parts_n > 0)
        cw_value_set_i64(cw_value_member(said, "parts"), (int64_t)note->parts_n);
    cw_value_set_bool(cw_value_member(said, "skips_bad"), note->skips_bad);
    cw_value_set_str(cw_value_member(said, "sum"), sum);
    if (note->text)
        cw_value_set_str(cw_value_member(said, "fates"), note->text);
}

static bool get_number(const struct cw_value *said, const char *key, uint64_t *ret)
{
    const struct cw_value *value = cw_value_get(said, key);
    if (!value || value->type != CW_VALUE_I64 || value->i < 0)
        return false;
    *ret = (uint64_t)value->i;
    return true;
}

int cw_survey_note_read(const struct cw_value *manifest, struct cw_survey_note *ret_note,
                        struct cw_err *err)
{
    struct cw_survey_note s = {0};
    const struct cw_value *said =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "survey") : NULL;
    if (!said || said->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "the manifest has no survey");
    const struct cw_value *skips = cw_value_get(said, "skips_bad"),
                          *sum = cw_value_get(said, "sum"), *text = cw_value_get(said, "fates");
    if (!get_number(said, "elements", &s.n) || !get_number(said, "kept", &s.kept_n) ||
        !get_number(said, "bad", &s.bad_n) ||
        (cw_value_get(said, "parts") && !get_number(said, "parts", &s.parts_n)) || !skips ||
        skips->type != CW_VALUE_BOOL || !sum || sum->type != CW_VALUE_STR ||
        !cw_hash_parse(sum->s, &s.sum) || (text && text->type != CW_VALUE_STR))
        return cw_err_set(err, CW_E_INVALID, "what the manifest says of the survey is no survey");
    s.skips_bad = skips->b;
    s.text = cw_mem_strdup(text ? text->s : NULL);
    *ret_note = s;
    return 0;
}
