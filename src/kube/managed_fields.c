/* SPDX-License-Identifier: Apache-2.0 */
/* Empties managedFields before a text is parsed. */
#include "kube/managed_fields.h"

#include <string.h>

static const char member[] = "\"managedFields\":[";
#define MEMBER_N (sizeof(member) - 1)

/* Returns the end of a list that is open at `at`: behind its bracket, or `end`. */
static const char *end_of_list(const char *at, const char *end)
{
    size_t depth = 1;
    bool in_string = false;

    for (; at < end && depth > 0; at++) {
        if (in_string && *at == '\\' && at + 1 < end)
            at++;
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string && *at == '[')
            depth++;
        else if (!in_string && *at == ']')
            depth--;
    }
    return at;
}

/* Finds the next such member. Its name and what follows cannot stand within a string, whose quotes
 * have a backslash before them; so only a first quote with a backslash makes it another name. */
static const char *find(const char *at, const char *end)
{
    const char *found;

    while ((found = memmem(at, (size_t)(end - at), member, MEMBER_N))) {
        if (found[-1] != '\\') /* the text begins with a brace */
            return found;
        at = found + 1;
    }
    return NULL;
}

bool cw_kube_cut_managed_fields(const char *text, size_t n, struct cw_str *out)
{
    const char *at = text, *end = text + n;
    const char *found = n > 0 && text[0] == '{' ? find(at + 1, end) : NULL;

    if (!found)
        return false;
    for (; found; found = find(at, end)) {
        cw_str_add_bytes(out, at, (size_t)(found - at) + MEMBER_N);
        at = end_of_list(found + MEMBER_N, end);
        if (at[-1] == ']')
            cw_str_add_char(out, ']');
    }
    cw_str_add_bytes(out, at, (size_t)(end - at));
    return true;
}
