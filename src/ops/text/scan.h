/* SPDX-License-Identifier: Apache-2.0 */
/* Pre-tokenisers: they cut a text into words, which are then encoded one by one. The published
 * patterns are scanners written by hand, equal to their regular expressions; any other pattern is
 * matched by PCRE2. A byte that is no valid UTF-8 counts as a sign. */
#ifndef CW_OPS_TEXT_SCAN_H
#define CW_OPS_TEXT_SCAN_H

#include "ops/text/regex.h"

/* Returns the length of the word at the beginning of a text of n > 0 bytes. */
typedef size_t cw_scan_fn(const uint8_t *p, size_t n);

size_t cw_scan_gpt2(const uint8_t *p, size_t n);
size_t cw_scan_cl100k(const uint8_t *p, size_t n);
size_t cw_scan_llama3(const uint8_t *p, size_t n);
size_t cw_scan_qwen2(const uint8_t *p, size_t n);
size_t cw_scan_o200k(const uint8_t *p, size_t n);
size_t cw_scan_none(const uint8_t *p, size_t n); /* all of it is one word */

/* Parts that the scanners share. */
/* Returns the length of an English contraction ('s, 't, 're, 've, 'm, 'll, 'd) at p, or 0. fold:
 * upper case as well. */
size_t cw_scan_contraction(const uint8_t *p, size_t n, bool fold);
/* Returns where the run of characters with one of these classes ends that begins at i. */
size_t cw_scan_run(const uint8_t *p, size_t n, size_t i, unsigned classes);
/* Likewise for characters that are neither letters nor numbers nor spaces. */
size_t cw_scan_signs(const uint8_t *p, size_t n, size_t i);
/* Returns how much of the spaces at p, which is one, is a word: `\s*[\r\n]+|\s+(?!\S)|\s+`. end_first:
 * `\s+$` goes before all that; newlines: whether the first of these alternatives is there. */
size_t cw_scan_spaces(const uint8_t *p, size_t n, bool newlines, bool end_first);

/* A pre-tokeniser of a model. */
struct cw_scan {
    cw_scan_fn *scan;       /* NULL: the pattern */
    struct cw_regex *regex; /* owned */
};
/* Finds the scanner that a name ("gpt2") or the text of a published pattern stands for; compiles
 * what is neither. */
int cw_scan_init(struct cw_scan *scan, const char *pattern, struct cw_err *err);
void cw_scan_fini(struct cw_scan *scan);
/* Returns the name of a built-in scanner whose published text this is, or NULL. */
const char *cw_scan_published(const char *pattern);

#endif
