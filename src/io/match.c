/* SPDX-License-Identifier: Apache-2.0 */
#include "io/match.h"

#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define PART_BYTES 1025 /* no name of an object is longer */

bool cw_match_is_pattern(const char *pattern)
{
    return strpbrk(pattern, "*?[\\") != NULL;
}

size_t cw_match_prefix(const char *pattern)
{
    return strcspn(pattern, "*?[\\");
}

/* Whether one component of a pattern, of which n bytes count, matches one of a name. */
static bool part_matches(const char *pattern, size_t pattern_n, const char *name, size_t name_n)
{
    char a[PART_BYTES], b[PART_BYTES];
    if (pattern_n >= sizeof(a) || name_n >= sizeof(b))
        return false;
    memcpy(a, pattern, pattern_n);
    a[pattern_n] = '\0';
    memcpy(b, name, name_n);
    b[name_n] = '\0';
    return fnmatch(a, b, FNM_PERIOD) == 0;
}

static bool is_any_depth(const char *pattern, size_t n)
{
    return n == 2 && memcmp(pattern, "**", 2) == 0;
}

/* Both go forward component by component. Where the last "**" was met, it is gone back to: it takes
 * one component more. One place to go back to suffices, since what comes before the last "**" may
 * match as early as it can. */
bool cw_match_name(const char *pattern, const char *name)
{
    const char *back_pattern = NULL, *back_name = NULL;
    for (;;) {
        size_t p_n = strcspn(pattern, "/"), n_n = strcspn(name, "/");
        if (is_any_depth(pattern, p_n)) {
            if (pattern[p_n] == '\0')
                return *name && !strstr(name, "/.") && *name != '.';
            back_pattern = pattern = pattern + p_n + 1;
            back_name = name;
            continue;
        }
        bool matches = part_matches(pattern, p_n, name, n_n);
        if (matches && !pattern[p_n] && !name[n_n])
            return true;
        if (matches && pattern[p_n] && name[n_n]) {
            pattern += p_n + 1;
            name += n_n + 1;
            continue;
        }
        if (!back_pattern)
            return false;
        n_n = strcspn(back_name, "/");
        if (!back_name[n_n] || back_name[0] == '.')
            return false;
        name = back_name += n_n + 1;
        pattern = back_pattern;
    }
}
