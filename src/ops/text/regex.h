/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions by PCRE2, on UTF-8 with Unicode's classes. Bytes that are no UTF-8 match
 * nothing. They are matched by the interpreter, with a limit of steps: so the same texts are refused
 * everywhere, also where PCRE2 has no compiler for the processor. */
#ifndef CW_OPS_TEXT_REGEX_H
#define CW_OPS_TEXT_REGEX_H

#include <stdbool.h>
#include "base/str.h"
#include "base/err.h"

/* Steps of one match (pcre2_set_match_limit), and KiB of memory for going back. */
#define CW_REGEX_STEPS_MAX 1000000
#define CW_REGEX_HEAP_KIB 65536

struct cw_regex;
/* Compiles a pattern. An error names the place in it. */
int cw_regex_new(const char *pattern, struct cw_regex **ret_regex, struct cw_err *err);
void cw_regex_free(struct cw_regex *regex);

/* What a thread needs to match one expression. */
struct cw_regex_match;
struct cw_regex_match *cw_regex_match_new(const struct cw_regex *regex);
void cw_regex_match_free(struct cw_regex_match *match);
/* Finds the first match that begins at `at` or behind and is not empty. Returns 1 and its place, 0 if
 * there is none, LIMIT if it would take too many steps. */
int cw_regex_find(const struct cw_regex *regex, struct cw_regex_match *match, const uint8_t *p,
                  size_t n, size_t at, size_t *ret_begin, size_t *ret_end, struct cw_err *err);
/* Checks a template, before there is a text. */
int cw_regex_check_template(const struct cw_regex *regex, const char *with, struct cw_err *err);
/* Replaces all matches by a template ($1, ${name}, $$). The result is in `out`, whose memory is used
 * again. */
int cw_regex_replace(const struct cw_regex *regex, struct cw_regex_match *match, const uint8_t *p,
                     size_t n, const char *with, struct cw_str *out, struct cw_err *err);

#endif
