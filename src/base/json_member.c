/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_member.h"

#include <inttypes.h>
#include <string.h>

static void add_key(struct cw_str *out, const char *key)
{
    bool first = out->len > 0 && out->s[out->len - 1] == '{';
    cw_str_addf(out, "%s\"%s\":", first ? "" : ",", key);
}

void cw_member_text(struct cw_str *out, const char *key, const char *text)
{
    add_key(out, key);
    cw_str_add_json(out, text, strlen(text));
}

void cw_member_real(struct cw_str *out, const char *key, double number)
{
    add_key(out, key);
    cw_str_add_f64(out, number);
}

void cw_member_number(struct cw_str *out, const char *key, uint64_t number)
{
    add_key(out, key);
    cw_str_addf(out, "%" PRIu64, number);
}

void cw_member_bool(struct cw_str *out, const char *key, bool is_true)
{
    add_key(out, key);
    cw_str_add(out, is_true ? "true" : "false");
}
