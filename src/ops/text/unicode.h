/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of UTF-8 text and their classes, by utf8proc's tables. */
#ifndef CW_OPS_TEXT_UNICODE_H
#define CW_OPS_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes of characters, as bits. */
enum cw_char_class {
    CW_CHAR_LETTER = 1u << 0,  /* \p{L} */
    CW_CHAR_NUMBER = 1u << 1,  /* \p{N} */
    CW_CHAR_SPACE = 1u << 2,   /* \s: White_Space */
    CW_CHAR_NEWLINE = 1u << 3, /* \r or \n */
    CW_CHAR_UPPER = 1u << 4,   /* Lu, Lt, Lm, Lo or M: may begin a word in capitals */
    CW_CHAR_LOWER = 1u << 5    /* Ll, Lm, Lo or M: may end one */
};
/* Classes of the 128 ASCII characters. */
extern const uint8_t cw_char_ascii[128];
/* Returns the classes of a code point; -1 (no character) has none. */
unsigned cw_char_class_of(int32_t code);
/* Whether it is a character of words: \w. */
bool cw_char_is_word(int32_t code);

/* Decodes the character at p, n > 0 bytes from the end. *ret_len is its length, 1 if there is no
 * valid one; -1 is returned then. */
int32_t cw_char_decode(const uint8_t *p, size_t n, size_t *ret_len);
/* Writes a character, which needs up to 4 bytes. Returns how many it took. */
size_t cw_char_encode(int32_t code, uint8_t *out);

/* Returns the classes of the character at p and its length. */
static inline unsigned cw_char_at(const uint8_t *p, size_t n, size_t *ret_len)
{
    if (*p < 128) {
        *ret_len = 1;
        return cw_char_ascii[*p];
    }
    return cw_char_class_of(cw_char_decode(p, n, ret_len));
}

#endif
