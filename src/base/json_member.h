/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects, appended to a text. Any thread. */
#ifndef CW_BASE_JSON_MEMBER_H
#define CW_BASE_JSON_MEMBER_H

#include "base/str.h"

/* Each adds a member to an object that begins with "{" in `out`: after a comma, unless it is the
 * first. The key is written as it is. */
void cw_member_text(struct cw_str *out, const char *key, const char *text);
void cw_member_real(struct cw_str *out, const char *key, double number);
void cw_member_number(struct cw_str *out, const char *key, uint64_t number);
void cw_member_bool(struct cw_str *out, const char *key, bool is_true);

#endif
