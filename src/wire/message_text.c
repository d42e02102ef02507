/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of messages. Names must be valid UTF-8 without control characters, since they are printed,
 * compared and handed on; values of a pipeline's options must be valid UTF-8. Everything else is
 * text for people, perhaps with the name of a file in it that is neither: it is cleaned. */
#include <string.h>

#include "base/str.h"
#include "wire/wire_int.h"

enum cw_wire_text cw_wire_text_kind(const ProtobufCMessageDescriptor *type, const char *field)
{
    static const char *const names[] = {
        "name",   "address",  "version", "host_id", "job_id", "tenant", "node",       "op",
        "worker", "only_job", "job",     "fields",  "mark",   "tier",   "depends_on", "key"};
    if (type == &cachew__v1__value__descriptor || type == &cachew__v1__value__object__descriptor)
        return CW_WIRE_VALUE;
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        if (strcmp(field, names[i]) == 0)
            return CW_WIRE_NAME;
    return CW_WIRE_TEXT;
}

/* Returns the length of the character at p, or 0 if it is not one that the kind may have. */
static size_t allowed_len(enum cw_wire_text kind, const uint8_t *p, size_t n)
{
    if (*p >= 0x20 && *p < 0x7f)
        return 1;
    size_t len = cw_str_utf8_len(p, n);
    bool control =
        (len == 1 && (*p < 0x20 || *p == 0x7f)) || (len == 2 && p[0] == 0xc2 && p[1] < 0xa0);
    bool ok =
        !control || kind == CW_WIRE_VALUE || (kind == CW_WIRE_TEXT && (*p == '\n' || *p == '\t'));
    return ok ? len : 0;
}

bool cw_wire_text_ok(enum cw_wire_text kind, const uint8_t *p, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = allowed_len(kind, p + i, n - i);
        if (len == 0)
            return false;
    }
    return true;
}

void cw_wire_text_clean(uint8_t *p, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = allowed_len(CW_WIRE_TEXT, p + i, n - i);
        if (len > 0)
            continue;
        p[i] = '?';
        len = 1;
    }
}
