/* SPDX-License-Identifier: Apache-2.0 */
/* What BERT does to a text before it is cut: controls are left out, spaces become one kind, Chinese
 * characters get spaces, accents go, letters become small. */
#include <utf8proc.h>

#include "ops/text/normal_form.h"
#include "ops/text/room.h"
#include "ops/text/unicode.h"
#include "ops/text/wordpiece.h"

static bool is_left_out(int32_t code)
{
    if (code == '\t' || code == '\n' || code == '\r')
        return false;
    if (code <= 0 || code == 0xfffd)
        return true;
    const utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO;
}

static bool is_chinese(int32_t code)
{
    return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
           (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
           (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
           (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

static void add_cleaned(const struct cw_wordpiece *model, int32_t code, const uint8_t *p,
                        size_t len, struct cw_str *out)
{
    const bool chinese = model->chinese_chars && is_chinese(code);
    if (chinese)
        cw_str_add_char(out, ' ');
    if (model->clean && cw_char_class_of(code) & CW_CHAR_SPACE)
        cw_str_add_char(out, ' ');
    else if (code < 0)
        cw_str_add(out, "\xef\xbf\xbd");
    else
        cw_str_add_bytes(out, p, len);
    if (chinese)
        cw_str_add_char(out, ' ');
}

static int clean(const struct cw_wordpiece *model, const uint8_t *p, size_t n, struct cw_str *out,
                 struct cw_err *err)
{
    size_t len;
    out->len = 0;
    int rc = cw_text_room(out, 3 * n, err);
    for (size_t i = 0; rc == 0 && i < n; i += len) {
        const int32_t code = cw_char_decode(p + i, n - i, &len);
        if (!model->clean || !is_left_out(code))
            add_cleaned(model, code, p + i, len, out);
    }
    return rc;
}

/* Leaves accents out and makes letters small. */
static int fold(const struct cw_wordpiece *model, const uint8_t *p, size_t n, struct cw_str *out,
                struct cw_err *err)
{
    size_t len;
    out->len = 0;
    int rc = cw_text_room(out, 2 * n, err);
    for (size_t i = 0; rc == 0 && i < n; i += len) {
        const int32_t code = cw_char_decode(p + i, n - i, &len);
        if (model->strip_accents && utf8proc_category(code) == UTF8PROC_CATEGORY_MN)
            continue;
        if (model->lower)
            cw_lower_code(code, out);
        else
            cw_str_add_bytes(out, p + i, len);
    }
    return rc;
}

int cw_wordpiece_clean(const struct cw_wordpiece *model, struct cw_wordpiece_thread *thread,
                       const uint8_t *p, size_t n, struct cw_err *err)
{
    int rc = clean(model, p, n, &thread->clean, err);
    if (rc == 0 && model->strip_accents) {
        thread->word.len = 0;
        rc = cw_normal_form(CW_FORM_NFD, (const uint8_t *)cw_str_text(&thread->clean),
                            thread->clean.len, &thread->word, err);
    }
    const struct cw_str *from = model->strip_accents ? &thread->word : &thread->clean;
    if (rc < 0)
        return rc;
    return fold(model, (const uint8_t *)cw_str_text(from), from->len, &thread->normal, err);
}
