/* SPDX-License-Identifier: Apache-2.0 */
/* Braces in patterns, as shells and WebDataset know them: `{a,b}` stands for each of its texts, and
 * `{000..127}` for each number from the first to the last, with as many digits as the longer of the
 * two if one begins with 0. A step may follow (`{0..10..2}`), groups may be nested, and `\{` is a
 * brace. What is neither, like `{a}`, stays as it is. No file is looked at. */
#ifndef CW_IO_BRACE_H
#define CW_IO_BRACE_H

#include "io/glob.h"

#define CW_BRACE_PATTERN_BYTES_MAX ((size_t)16 << 10)
#define CW_BRACE_TEXTS_MAX ((size_t)1 << 20)

/* Whether the pattern has a brace that may begin a group. */
bool cw_brace_is_in(const char *pattern);
/* Adds what the pattern stands for, in the order of the groups from left to right; a pattern without
 * groups stands for itself. LIMIT if there are more than CW_BRACE_TEXTS_MAX texts, or if making them
 * would take too much work. */
int cw_brace_expand(const char *pattern, struct cw_paths *texts, struct cw_err *err);

#endif
