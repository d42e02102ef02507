/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of strings of JSON. */
#ifndef CW_FORMAT_JSON_STRINGS_H
#define CW_FORMAT_JSON_STRINGS_H

#include "base/arena.h"
#include "data/element.h"

/* Reads the list at p into a list of strings (data/strings.h), whose number must be `want` unless that is
 * -1. */
int cw_json_strings(const char *p, size_t n, int64_t want, struct cw_arena *arena,
                    struct cw_view *ret_view, struct cw_err *err);

#endif
