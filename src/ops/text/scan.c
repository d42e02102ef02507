/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/scan.h"

#include <string.h>

#include "ops/text/unicode.h"

#define SIGNS_END (CW_CHAR_LETTER | CW_CHAR_NUMBER | CW_CHAR_SPACE)

size_t cw_scan_run(const uint8_t *p, size_t n, size_t i, unsigned classes)
{
    size_t len;
    while (i < n && cw_char_at(p + i, n - i, &len) & classes)
        i += len;
    return i;
}

size_t cw_scan_signs(const uint8_t *p, size_t n, size_t i)
{
    size_t len;
    while (i < n && !(cw_char_at(p + i, n - i, &len) & SIGNS_END))
        i += len;
    return i;
}

size_t cw_scan_contraction(const uint8_t *p, size_t n, bool fold)
{
    if (n < 2 || p[0] != '\'')
        return 0;
    const int bit = fold ? 0x20 : 0;
    const int a = p[1] | bit, b = n > 2 ? p[2] | bit : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if (((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l'))
        return 3;
    /* U+017F, the long s, is a small letter of S */
    return fold && n > 2 && p[1] == 0xc5 && p[2] == 0xbf ? 3 : 0;
}

size_t cw_scan_spaces(const uint8_t *p, size_t n, bool newlines, bool end_first)
{
    size_t i = 0, last = 0, newline_end = 0, len;
    for (; i < n; i += len) {
        const unsigned class = cw_char_at(p + i, n - i, &len);
        if (!(class & CW_CHAR_SPACE))
            break;
        last = i;
        if (class & CW_CHAR_NEWLINE)
            newline_end = i + len;
    }
    if (end_first && i == n)
        return i;
    if (newlines && newline_end > 0)
        return newline_end;
    return i < n && last > 0 ? last : i;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
size_t cw_scan_gpt2(const uint8_t *p, size_t n)
{
    const size_t contraction = cw_scan_contraction(p, n, false);
    if (contraction > 0)
        return contraction;
    size_t len, i = p[0] == ' ' && n > 1;
    const unsigned class = cw_char_at(p + i, n - i, &len);
    if (class & CW_CHAR_SPACE)
        return cw_scan_spaces(p, n, false, false);
    if (class & CW_CHAR_LETTER)
        return cw_scan_run(p, n, i, CW_CHAR_LETTER);
    if (class & CW_CHAR_NUMBER)
        return cw_scan_run(p, n, i, CW_CHAR_NUMBER);
    return cw_scan_signs(p, n, i);
}

static size_t up_to_three_numbers(const uint8_t *p, size_t n, size_t most)
{
    size_t i = 0, len;
    for (size_t k = 0; k < most && i < n; k++, i += len)
        if (!(cw_char_at(p + i, n - i, &len) & CW_CHAR_NUMBER))
            break;
    return i;
}

/* `[^\r\n\p{L}\p{N}]?\p{L}+`, 0: there is none */
static size_t letters(const uint8_t *p, size_t n, unsigned class, size_t len)
{
    size_t next;
    if (class & CW_CHAR_LETTER)
        return cw_scan_run(p, n, len, CW_CHAR_LETTER);
    if (class & (CW_CHAR_NUMBER | CW_CHAR_NEWLINE) || len >= n ||
        !(cw_char_at(p + len, n - len, &next) & CW_CHAR_LETTER))
        return 0;
    return cw_scan_run(p, n, len + next, CW_CHAR_LETTER);
}

/* ` ?[^\s\p{L}\p{N}]+[\r\n]*`, 0: there is none */
static size_t signs(const uint8_t *p, size_t n)
{
    const size_t from = p[0] == ' ';
    const size_t end = cw_scan_signs(p, n, from);
    return end > from ? cw_scan_run(p, n, end, CW_CHAR_NEWLINE) : 0;
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*
 * and what is left is spaces. */
static inline size_t scan_letters_first(const uint8_t *p, size_t n, size_t digits, bool end_first)
{
    size_t len, word = cw_scan_contraction(p, n, true);
    if (word > 0)
        return word;
    const unsigned class = cw_char_at(p, n, &len);
    word = letters(p, n, class, len);
    if (word > 0)
        return word;
    if (class & CW_CHAR_NUMBER)
        return up_to_three_numbers(p, n, digits);
    word = signs(p, n);
    return word > 0 ? word : cw_scan_spaces(p, n, true, end_first);
}

size_t cw_scan_cl100k(const uint8_t *p, size_t n)
{
    return scan_letters_first(p, n, 3, true);
}

size_t cw_scan_llama3(const uint8_t *p, size_t n)
{
    return scan_letters_first(p, n, 3, false);
}

size_t cw_scan_qwen2(const uint8_t *p, size_t n)
{
    return scan_letters_first(p, n, 1, false);
}

size_t cw_scan_none(const uint8_t *p, size_t n)
{
    (void)p;
    return n;
}

/* ---- o200k ---- */

/* `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`: where it ends if it begins at i; 0:
 * it does not. If no small letter follows the capitals, the last of them that may also be a small
 * letter takes its place. */
static size_t capitals_then_small(const uint8_t *p, size_t n, size_t i)
{
    size_t len, both_end = 0;
    for (; i < n; i += len) {
        const unsigned class = cw_char_at(p + i, n - i, &len);
        if (!(class & CW_CHAR_UPPER))
            break;
        if (class & CW_CHAR_LOWER)
            both_end = i + len;
    }
    const size_t end = cw_scan_run(p, n, i, CW_CHAR_LOWER);
    return end > i ? end : both_end;
}

/* `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`, where the one above does not match */
static size_t capitals(const uint8_t *p, size_t n, size_t i)
{
    const size_t end = cw_scan_run(p, n, i, CW_CHAR_UPPER);
    return end > i ? end : 0;
}

/* A word of letters with what may stand before it; 0: there is none. */
static size_t cased_word(const uint8_t *p, size_t n, unsigned class, size_t len)
{
    const bool has_prefix =
        !(class & (CW_CHAR_LETTER | CW_CHAR_NUMBER | CW_CHAR_NEWLINE)) && len < n;
    size_t end = has_prefix ? capitals_then_small(p, n, len) : 0;
    if (!end)
        end = capitals_then_small(p, n, 0);
    if (!end && has_prefix)
        end = capitals(p, n, len);
    return end ? end : capitals(p, n, 0);
}

size_t cw_scan_o200k(const uint8_t *p, size_t n)
{
    size_t len;
    const unsigned class = cw_char_at(p, n, &len);
    size_t end = cased_word(p, n, class, len);
    if (end > 0)
        return end + cw_scan_contraction(p + end, n - end, true);
    if (class & CW_CHAR_NUMBER)
        return up_to_three_numbers(p, n, 3);
    end = signs(p, n);
    if (!end)
        return cw_scan_spaces(p, n, true, false);
    while (end < n && (p[end] == '/' || p[end] == '\r' || p[end] == '\n'))
        end++;
    return end;
}
