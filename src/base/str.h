/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte string. It always has a NUL behind len, and may contain any bytes. Zero-initialise
 * it. */
#ifndef CW_BASE_STR_H
#define CW_BASE_STR_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_str {
    char *s; /* NULL while nothing was written: cw_str_text gives "" then */
    size_t len;
    size_t cap;
};

void cw_str_fini(struct cw_str *str);
void cw_str_clear(struct cw_str *str);
void cw_str_add(struct cw_str *str, const char *s);
void cw_str_add_bytes(struct cw_str *str, const void *p, size_t n);
void cw_str_add_char(struct cw_str *str, char c);
void cw_str_addf(struct cw_str *str, const char *fmt, ...) CW_PRINTF(2, 3);
const char *cw_str_text(const struct cw_str *str); /* "" when empty */
char *cw_str_take(struct cw_str *str);             /* the caller frees; never NULL */
/* Appends s as a JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void cw_str_add_json(struct cw_str *str, const char *s, size_t n);
/* Appends the shortest decimal number that reads back the same; it always has a point or an
 * exponent. */
void cw_str_add_f64(struct cw_str *str, double v);
#define CW_STR_AUTO CW_CLEANUP(cw_str_fini) struct cw_str

bool cw_str_eq(const char *a, const char *b); /* NULL equals only NULL */
bool cw_str_starts(const char *s, const char *prefix);
/* Returns the length of the valid UTF-8 character at p, or 0 if there is none (overlong forms and
 * surrogates are not valid). n > 0 bytes can be read. */
size_t cw_str_utf8_len(const unsigned char *p, size_t n);
/* Returns how many bytes from the first on are valid UTF-8: n if all are. */
size_t cw_str_utf8_valid(const unsigned char *p, size_t n);
/* Parse a string that consists of one number; false for anything else, including overflow. Bytes
 * accept K, M, G, T (1024) and KiB, MB, ... */
bool cw_str_to_i64(const char *s, int64_t *ret);
bool cw_str_to_u64(const char *s, uint64_t *ret);
bool cw_str_to_f64(const char *s, double *ret);
bool cw_str_to_f32(const char *s, float *ret); /* the nearest float, from all digits */
bool cw_str_to_bytes(const char *s, uint64_t *ret);
/* Appends a number of bytes as people read it, in units of 1024 as options have them: "345 B",
 * "500.0 MiB". */
void cw_str_add_size(struct cw_str *str, double bytes);
/* Parses "250ms", "3s", "2m", "1h", or "3" (seconds) to milliseconds. */
bool cw_str_to_ms(const char *s, int64_t *ret);
/* Returns the candidate nearest to `word` (edit distance: Damerau-Levenshtein restricted), or NULL
 * if none is near enough for "did you mean". candidates ends with NULL. */
const char *cw_str_nearest(const char *word, const char *const *candidates);
/* Appends what a message says of a name that is not one of the candidates: "; did you mean "NEAREST"?", or else
 * "; it has " and the first eight. Of none it appends nothing. */
void cw_str_suggest(const char *word, const char *const *candidates, struct cw_str *out);

#endif
