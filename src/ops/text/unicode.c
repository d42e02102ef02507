/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/unicode.h"

#include <utf8proc.h>

#include "base/compiler.h"
#include "base/str.h"

#define U (CW_CHAR_LETTER | CW_CHAR_UPPER)
#define L (CW_CHAR_LETTER | CW_CHAR_LOWER)
#define N CW_CHAR_NUMBER
#define S CW_CHAR_SPACE
#define E (CW_CHAR_SPACE | CW_CHAR_NEWLINE)
const uint8_t cw_char_ascii[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, S, E, S, S, E, 0, 0, /* controls */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* controls */
    S, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* signs */
    N, N, N, N, N, N, N, N, N, N, 0, 0, 0, 0, 0, 0, /* digits */
    0, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, /* A to O */
    U, U, U, U, U, U, U, U, U, U, U, 0, 0, 0, 0, 0, /* P to Z */
    0, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* a to o */
    L, L, L, L, L, L, L, L, L, L, L, 0, 0, 0, 0, 0, /* p to z */
};
#undef U
#undef L
#undef N
#undef S
#undef E

static bool is_space(int32_t code)
{
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

unsigned cw_char_class_of(int32_t code)
{
    static const uint8_t of_category[] = {
        [UTF8PROC_CATEGORY_LU] = CW_CHAR_LETTER | CW_CHAR_UPPER,
        [UTF8PROC_CATEGORY_LL] = CW_CHAR_LETTER | CW_CHAR_LOWER,
        [UTF8PROC_CATEGORY_LT] = CW_CHAR_LETTER | CW_CHAR_UPPER,
        [UTF8PROC_CATEGORY_LM] = CW_CHAR_LETTER | CW_CHAR_UPPER | CW_CHAR_LOWER,
        [UTF8PROC_CATEGORY_LO] = CW_CHAR_LETTER | CW_CHAR_UPPER | CW_CHAR_LOWER,
        [UTF8PROC_CATEGORY_MN] = CW_CHAR_UPPER | CW_CHAR_LOWER,
        [UTF8PROC_CATEGORY_MC] = CW_CHAR_UPPER | CW_CHAR_LOWER,
        [UTF8PROC_CATEGORY_ME] = CW_CHAR_UPPER | CW_CHAR_LOWER,
        [UTF8PROC_CATEGORY_ND] = CW_CHAR_NUMBER,
        [UTF8PROC_CATEGORY_NL] = CW_CHAR_NUMBER,
        [UTF8PROC_CATEGORY_NO] = CW_CHAR_NUMBER,
    };
    if (code < 0)
        return 0;
    if (code < 128)
        return cw_char_ascii[code];
    if (is_space(code))
        return CW_CHAR_SPACE;
    const unsigned category = (unsigned)utf8proc_category(code);
    return category < sizeof(of_category) ? of_category[category] : 0;
}

bool cw_char_is_word(int32_t code)
{
    if (code < 0)
        return false;
    if (code == 0x200c || code == 0x200d)
        return true;
    const utf8proc_category_t category = utf8proc_category(code);
    return cw_char_class_of(code) & (CW_CHAR_LETTER | CW_CHAR_UPPER) ||
           category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
           category == UTF8PROC_CATEGORY_PC;
}

int32_t cw_char_decode(const uint8_t *p, size_t n, size_t *ret_len)
{
    const size_t len = cw_str_utf8_len(p, n);
    *ret_len = CW_MAX(len, 1);
    switch (len) {
    case 0:
        return -1;
    case 1:
        return p[0];
    case 2:
        return (p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    case 3:
        return (p[0] & 0xf) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    default:
        return (p[0] & 7) << 18 | (p[1] & 0x3f) << 12 | (p[2] & 0x3f) << 6 | (p[3] & 0x3f);
    }
}

size_t cw_char_encode(int32_t code, uint8_t *out)
{
    return (size_t)utf8proc_encode_char(code, out);
}
