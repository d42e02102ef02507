/* SPDX-License-Identifier: Apache-2.0 */
/* Empties lists that nobody reads, before a text is parsed. */
#include "kube/cut_lists.h"

#include <string.h>

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

/* Finds the next member that is a list and has this name (quoted, with colon and bracket). The pattern
 * cannot stand within a string, whose quotes have a backslash before them; so only a first quote with a
 * backslash makes it another name. */
static const char *find(const char *at, const char *end, const char *member, size_t member_n)
{
    const char *found;

    while ((found = memmem(at, (size_t)(end - at), member, member_n))) {
        if (found[-1] != '\\') /* the text begins with a brace */
            return found;
        at = found + 1;
    }
    return NULL;
}

bool cw_kube_cut_lists(const char *text, size_t n, const char *const *members, struct cw_str *out)
{
    const char *at = text, *end = text + n;
    const char *found[CW_KUBE_CUT_MAX] = {0};

    if (n == 0 || text[0] != '{')
        return false;
    for (size_t i = 0; i < CW_KUBE_CUT_MAX && members[i]; i++)
        found[i] = find(text + 1, end, members[i], strlen(members[i]));
    for (;;) {
        size_t first = CW_KUBE_CUT_MAX;
        for (size_t i = 0; i < CW_KUBE_CUT_MAX && members[i]; i++) {
            if (found[i] && found[i] < at) /* within a list that was emptied */
                found[i] = find(at, end, members[i], strlen(members[i]));
            if (found[i] && (first == CW_KUBE_CUT_MAX || found[i] < found[first]))
                first = i;
        }
        if (first == CW_KUBE_CUT_MAX)
            break;
        const char *inside = found[first] + strlen(members[first]);
        cw_str_add_bytes(out, at, (size_t)(inside - at));
        at = end_of_list(inside, end);
        if (at[-1] == ']')
            cw_str_add_char(out, ']');
    }
    if (at == text)
        return false;
    cw_str_add_bytes(out, at, (size_t)(end - at));
    return true;
}
