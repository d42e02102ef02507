/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of JSON as the text that they stand for. */
#ifndef CW_FORMAT_JSON_TEXT_H
#define CW_FORMAT_JSON_TEXT_H

#include "base/err.h"

/* Writes the text of a string with escapes, n > 0 bytes of it, to dst, which has room for n bytes;
 * returns how many there are in *ret_n. */
int cw_json_unescape(const char *p, size_t n, char *dst, size_t *ret_n, struct cw_err *err);

#endif
