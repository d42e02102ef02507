/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/normal_form.h"

#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "ops/text/room.h"
#include "ops/text/unicode.h"

const char *const cw_normal_form_names[] = {"nfc", "nfd", "nfkc", "nfkd", NULL};

bool cw_is_ascii(const uint8_t *p, size_t n)
{
    uint64_t all = 0, word;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&word, p + i, 8);
        all |= word;
    }
    for (; i < n; i++)
        all |= p[i];
    return !(all & UINT64_C(0x8080808080808080));
}

/* Returns how many bytes from the beginning are valid UTF-8. */
static size_t valid_run(const uint8_t *p, size_t n)
{
    size_t i = 0, len;
    for (; i < n && (len = cw_str_utf8_len(p + i, n - i)) > 0;)
        i += len;
    return i;
}

/* The codes of the characters are written behind the text, and become UTF-8 in their place. */
static int map_run(utf8proc_option_t options, const uint8_t *p, size_t n, struct cw_str *out,
                   struct cw_err *err)
{
    utf8proc_ssize_t codes_n = utf8proc_decompose(p, (utf8proc_ssize_t)n, NULL, 0, options);
    if (codes_n < 0)
        return cw_err_set(err, CW_E_LIMIT, "a text of %zu bytes has no normal form: %s", n,
                          utf8proc_errmsg(codes_n));
    int rc = cw_text_room(out, ((size_t)codes_n + 2) * sizeof(utf8proc_int32_t), err);
    if (rc < 0)
        return rc;
    utf8proc_int32_t *codes = (void *)(out->s + (out->len + 3) / 4 * 4);
    utf8proc_decompose(p, (utf8proc_ssize_t)n, codes, codes_n, options);
    const utf8proc_ssize_t bytes = utf8proc_reencode(codes, codes_n, options);
    if (bytes < 0)
        return cw_err_set(err, CW_E_LIMIT, "a text of %zu bytes has no normal form: %s", n,
                          utf8proc_errmsg(bytes));
    memmove(out->s + out->len, codes, (size_t)bytes);
    out->len += (size_t)bytes;
    return 0;
}

static utf8proc_option_t form_options(enum cw_normal_form form)
{
    unsigned options = UTF8PROC_STABLE;
    options |= form == CW_FORM_NFC || form == CW_FORM_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    options |= form == CW_FORM_NFKC || form == CW_FORM_NFKD ? UTF8PROC_COMPAT : 0;
    return (utf8proc_option_t)options;
}

int cw_normal_form(enum cw_normal_form form, const uint8_t *p, size_t n, struct cw_str *out,
                   struct cw_err *err)
{
    if (form == CW_FORM_NONE || cw_is_ascii(p, n)) {
        int rc = cw_text_room(out, n, err);
        if (rc == 0)
            cw_str_add_bytes(out, p, n);
        return rc;
    }
    for (size_t i = 0; i < n;) {
        const size_t run = valid_run(p + i, n - i);
        int rc = run > 0 ? map_run(form_options(form), p + i, run, out, err) : 0;
        if (rc < 0)
            return rc;
        i += run;
        if (i < n)
            cw_str_add_char(out, (char)p[i++]);
    }
    return 0;
}

/* ---- lower case ---- */

#define SIGMA 0x3a3
#define DOTTED_I 0x130

static bool is_ignored(int32_t code)
{
    const utf8proc_property_t *property = utf8proc_get_property(code);
    const int category = property->category;
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK || code == '\'' || code == '.' || code == ':' ||
           code == 0xb7 || code == 0x2018 || code == 0x2019 || code == 0x2024 || code == 0x2027;
}

static bool is_cased(int32_t code)
{
    return code >= 0 && (utf8proc_isupper(code) || utf8proc_islower(code) ||
                         utf8proc_category(code) == UTF8PROC_CATEGORY_LT);
}

/* Whether a cased letter stands behind p + i, with only ignored characters between. */
static bool cased_behind(const uint8_t *p, size_t n, size_t i)
{
    size_t len;
    for (; i < n; i += len) {
        const int32_t code = cw_char_decode(p + i, n - i, &len);
        if (code < 0 || !is_ignored(code))
            return is_cased(code);
    }
    return false;
}

static void add_code(struct cw_str *out, int32_t code)
{
    uint8_t bytes[4];
    cw_str_add_bytes(out, bytes, cw_char_encode(code, bytes));
}

void cw_lower_code(int32_t code, struct cw_str *out)
{
    add_code(out, code == DOTTED_I ? 'i' : utf8proc_tolower(code));
    if (code == DOTTED_I)
        add_code(out, 0x307);
}

static void add_lower(const uint8_t *p, size_t n, size_t end, int32_t code, bool after_cased,
                      struct cw_str *out)
{
    if (code == SIGMA)
        add_code(out, after_cased && !cased_behind(p, n, end) ? 0x3c2 : 0x3c3);
    else
        cw_lower_code(code, out);
}

static void lower_ascii(const uint8_t *p, size_t n, struct cw_str *out)
{
    const size_t at = out->len;
    cw_str_add_bytes(out, p, n);
    uint8_t *s = (uint8_t *)out->s + at;
    for (size_t i = 0; i < n; i++)
        s[i] = (uint8_t)(s[i] + ((uint8_t)(s[i] - 'A') < 26) * 32);
}

int cw_lower(const uint8_t *p, size_t n, struct cw_str *out, struct cw_err *err)
{
    bool after_cased = false;
    size_t len;
    int rc = cw_text_room(out, n + n / 2, err);
    if (rc < 0)
        return rc;
    if (cw_is_ascii(p, n)) {
        lower_ascii(p, n, out);
        return 0;
    }
    for (size_t i = 0; i < n; i += len) {
        const int32_t code = cw_char_decode(p + i, n - i, &len);
        if (code < 0)
            cw_str_add_char(out, (char)p[i]);
        else
            add_lower(p, n, i + len, code, after_cased, out);
        if (code < 0 || !is_ignored(code))
            after_cased = is_cased(code);
    }
    return 0;
}
