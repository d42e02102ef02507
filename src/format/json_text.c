/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces escapes. What lies between them is copied as a whole. */
#include "format/json_text.h"

#include <string.h>

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the four digits of \uXXXX at p; -1: there are none. */
static int32_t unit_at(const char *p, const char *end)
{
    int32_t unit = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_of(p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *put_utf8(char *dst, int32_t c)
{
    if (c < 0x80) {
        *dst++ = (char)c;
    } else if (c < 0x800) {
        *dst++ = (char)(0xc0 | c >> 6);
        *dst++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *dst++ = (char)(0xe0 | c >> 12);
        *dst++ = (char)(0x80 | (c >> 6 & 0x3f));
        *dst++ = (char)(0x80 | (c & 0x3f));
    } else {
        *dst++ = (char)(0xf0 | c >> 18);
        *dst++ = (char)(0x80 | (c >> 12 & 0x3f));
        *dst++ = (char)(0x80 | (c >> 6 & 0x3f));
        *dst++ = (char)(0x80 | (c & 0x3f));
    }
    return dst;
}

/* Reads what follows \u, and its second half if it is one of two. Returns the number of bytes read;
 * 0: it is wrong. */
static size_t code_at(const char *p, const char *end, int32_t *ret_code)
{
    const int32_t first = unit_at(p, end);
    if (first < 0 || (first >= 0xdc00 && first <= 0xdfff))
        return 0;
    *ret_code = first;
    if (first < 0xd800 || first > 0xdbff)
        return 4;
    if (end - p < 10 || p[4] != '\\' || p[5] != 'u')
        return 0;
    const int32_t second = unit_at(p + 6, end);
    if (second < 0xdc00 || second > 0xdfff)
        return 0;
    *ret_code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    return 10;
}

int cw_json_unescape(const char *p, size_t n, char *dst, size_t *ret_n, struct cw_err *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *end = p + n, *begin = p;
    char *out = dst;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        const size_t plain = (size_t)((slash ? slash : end) - p);
        memcpy(out, p, plain);
        out += plain;
        p += plain;
        if (!slash)
            break;
        const char *known = end - p < 2 || p[1] == '\0' ? NULL : strchr(from, p[1]);
        int32_t code = 0;
        size_t used = 0;
        if (known) {
            *out++ = to[known - from];
        } else if (end - p > 2 && p[1] == 'u' && (used = code_at(p + 2, end, &code)) > 0) {
            out = put_utf8(out, code);
        } else {
            return cw_err_set(err, CW_E_CORRUPT,
                              "the escape at byte %zu of the string is none, or half of a pair",
                              (size_t)(p - begin));
        }
        p += 2 + used;
    }
    *ret_n = (size_t)(out - dst);
    return 0;
}
