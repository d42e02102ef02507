/* SPDX-License-Identifier: Apache-2.0 */
/* Unicode's normal forms, and lower case, by utf8proc. Bytes that are no UTF-8 stay as they are. */
#ifndef CW_OPS_TEXT_NORMAL_FORM_H
#define CW_OPS_TEXT_NORMAL_FORM_H

#include "base/err.h"
#include "base/str.h"

enum cw_normal_form { CW_FORM_NFC, CW_FORM_NFD, CW_FORM_NFKC, CW_FORM_NFKD, CW_FORM_NONE };
extern const char *const cw_normal_form_names[]; /* for option tables; without NONE */

/* Appends a text in a normal form. Memory of `out` is used again. */
int cw_normal_form(enum cw_normal_form form, const uint8_t *p, size_t n, struct cw_str *out,
                   struct cw_err *err);
/* Appends a text in lower case, by Unicode's full mapping (U+0130 becomes two characters), with the
 * capital sigma at the end of a word as the small final one. */
int cw_lower(const uint8_t *p, size_t n, struct cw_str *out, struct cw_err *err);
/* Appends one character in lower case, without regard to those beside it. */
void cw_lower_code(int32_t code, struct cw_str *out);
/* Whether all bytes are below 128: then all forms are the text itself. */
bool cw_is_ascii(const uint8_t *p, size_t n);

#endif
