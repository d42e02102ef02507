/* SPDX-License-Identifier: Apache-2.0 */
/* Growing strings: appending text, numbers and JSON, and finding similar words. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define SUGGESTED_MAX 8 /* names that a message says where none is like the one that is missing */
#define WORD_MAX 64     /* longer words get no suggestion */

void cw_str_fini(struct cw_str *str)
{
    if (!str)
        return;
    cw_mem_free(str->s);
    *str = (struct cw_str){0};
}

void cw_str_clear(struct cw_str *str)
{
    str->len = 0;
    if (str->s)
        str->s[0] = '\0';
}

/* Makes room for n more bytes and the NUL. */
static void reserve(struct cw_str *str, size_t n)
{
    CW_ASSERT(n < SIZE_MAX / 4);
    size_t need = str->len + n + 1;

    if (need <= str->cap)
        return;
    str->cap = CW_MAX(need, CW_MAX(2 * str->cap, (size_t)32));
    str->s = cw_mem_grow(str->s, str->cap, 1);
}

void cw_str_add_bytes(struct cw_str *str, const void *p, size_t n)
{
    reserve(str, n);
    if (n)
        memcpy(str->s + str->len, p, n);
    str->len += n;
    str->s[str->len] = '\0';
}

void cw_str_add(struct cw_str *str, const char *s)
{
    cw_str_add_bytes(str, s, strlen(s));
}

void cw_str_add_char(struct cw_str *str, char c)
{
    cw_str_add_bytes(str, &c, 1);
}

void cw_str_addf(struct cw_str *str, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n > 0) {
        reserve(str, (size_t)n);
        vsnprintf(str->s + str->len, (size_t)n + 1, fmt, again);
        str->len += (size_t)n;
    }
    va_end(again);
}

const char *cw_str_text(const struct cw_str *str)
{
    return str->s ? str->s : "";
}

char *cw_str_take(struct cw_str *str)
{
    char *s = str->s ? str->s : cw_mem_new(1);

    *str = (struct cw_str){0};
    return s;
}

size_t cw_str_utf8_len(const unsigned char *p, size_t n)
{
    uint32_t c = p[0];
    size_t len = c < 0x80                ? 1
                 : c >= 0xc2 && c < 0xe0 ? 2
                 : c >= 0xe0 && c < 0xf0 ? 3
                 : c >= 0xf0 && c < 0xf5 ? 4
                                         : 0;

    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
        (c == 0xf4 && p[1] > 0x8f))
        return 0;
    return len;
}

size_t cw_str_utf8_valid(const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t word;
        while (n - i >= sizeof(word)) { /* most text is ASCII, or has much of it */
            memcpy(&word, p + i, sizeof(word));
            if (word & UINT64_C(0x8080808080808080))
                break;
            i += sizeof(word);
        }
        while (i < n && p[i] < 0x80)
            i++;
        for (; i < n && p[i] >= 0x80;) {
            const size_t len = cw_str_utf8_len(p + i, n - i);
            if (len == 0)
                return i;
            i += len;
        }
    }
    return i;
}

static void add_json_ascii(struct cw_str *str, unsigned char c)
{
    static const char letters[] = "btn\0fr"; /* the letters for 0x08 to 0x0d */

    if (c == '"' || c == '\\')
        cw_str_addf(str, "\\%c", (char)c);
    else if (c >= 0x08 && c <= 0x0d && c != 0x0b)
        cw_str_addf(str, "\\%c", letters[c - 0x08]);
    else if (c < 0x20 || c == 0x7f)
        cw_str_addf(str, "\\u%04x", (unsigned)c);
    else
        cw_str_add_char(str, (char)c);
}

void cw_str_add_json(struct cw_str *str, const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;

    cw_str_add_char(str, '"');
    for (size_t i = 0; i < n;) {
        size_t len = cw_str_utf8_len(p + i, n - i);

        if (len == 1)
            add_json_ascii(str, p[i]);
        else if (len > 1)
            cw_str_add_bytes(str, p + i, len);
        else
            cw_str_add(str, "\xef\xbf\xbd");
        i += len ? len : 1;
    }
    cw_str_add_char(str, '"');
}

bool cw_str_eq(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool cw_str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    return CW_MIN(CW_MIN(a, b), c);
}

/* Returns the edit distance, in which a swap of neighbours counts as one; both words are shorter
 * than WORD_MAX. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t n = strlen(a), m = strlen(b);
    size_t *before = rows[0], *last = rows[1], *now = rows[2];

    for (size_t j = 0; j <= m; j++) {
        before[j] = j;
        last[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = CW_MIN(now[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *cw_str_nearest(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    size_t len = strlen(word);
    size_t limit = len <= 2 ? 1 : len <= 5 ? 2 : 3;

    if (len >= WORD_MAX)
        return NULL;
    for (; *candidates; candidates++) {
        size_t other = strlen(*candidates);
        if (other >= WORD_MAX)
            continue;
        size_t d = distance(word, *candidates);
        /* A distance as large as the word's length means that nothing is alike. */
        if (d <= limit && d < CW_MAX(len, other) && (!best || d < limit)) {
            best = *candidates;
            limit = d;
        }
    }
    return best;
}

void cw_str_suggest(const char *word, const char *const *candidates, struct cw_str *out)
{
    const char *near = cw_str_nearest(word, candidates);
    if (near) {
        cw_str_addf(out, "; did you mean \"%s\"?", near);
        return;
    }
    for (size_t i = 0; candidates[i] && i < SUGGESTED_MAX; i++)
        cw_str_addf(out, "%s%s%s", i == 0 ? "; it has " : ", ", candidates[i],
                    i + 1 == SUGGESTED_MAX && candidates[i + 1] ? ", ..." : "");
}
