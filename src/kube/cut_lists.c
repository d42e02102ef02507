/* SPDX-License-Identifier: Apache-2.0 */
/* Empties lists that nobody reads, before a text is parsed. */
#include "kube/cut_lists.h"

#include <string.h>

/* Whether an odd number of backslashes stands before `at`, none of them before `begin`. */
static bool is_escaped(const char *begin, const char *at)
{
    const char *before = at;

    while (before > begin && before[-1] == '\\')
        before--;
    return (at - before) % 2 != 0;
}

/* Returns the end of a string that is open at `at`: behind its quote, or `end`. */
static const char *end_of_string(const char *at, const char *end)
{
    const char *quote;

    while ((quote = memchr(at, '"', (size_t)(end - at)))) {
        if (!is_escaped(at, quote))
            return quote + 1;
        at = quote + 1;
    }
    return end;
}

/* Returns the bracket that closes a list which is open at `at`; NULL: there is none. */
static const char *find_bracket(const char *at, const char *end)
{
    size_t depth = 1;

    while (at < end) {
        char c = *at++;
        if (c == '"')
            at = end_of_string(at, end);
        else if (c == '[')
            depth++;
        else if (c == ']' && --depth == 0)
            return at - 1;
    }
    return NULL;
}

/* Whether one of the members is what stands at `at`. */
static bool is_one_of(const char *at, size_t n, const char *const *members)
{
    for (size_t i = 0; i < CW_KUBE_CUT_MAX && members[i]; i++)
        if (strlen(members[i]) == n && memcmp(at, members[i], n) == 0)
            return true;
    return false;
}

/* Finds the next of the members, from `at`, which is in no string. Returns what stands behind its
 * bracket; NULL: there is none. */
static const char *find_list(const char *at, const char *end, const char *const *members)
{
    const char *quote;

    while ((quote = memchr(at, '"', (size_t)(end - at)))) {
        at = end_of_string(quote + 1, end);
        if (end - at >= 2 && at[0] == ':' && at[1] == '[' &&
            is_one_of(quote, (size_t)(at + 2 - quote), members))
            return at + 2;
    }
    return NULL;
}

bool cw_kube_cut_lists(const char *text, size_t n, const char *const *members, struct cw_str *out)
{
    const char *at = text, *end = text + n, *inside;

    if (n == 0 || text[0] != '{')
        return false;
    while (at && (inside = find_list(at, end, members))) {
        cw_str_add_bytes(out, at, (size_t)(inside - at));
        at = find_bracket(inside, end);
    }
    if (at == text)
        return false;
    if (at)
        cw_str_add_bytes(out, at, (size_t)(end - at));
    return true;
}
