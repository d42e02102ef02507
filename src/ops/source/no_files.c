/* SPDX-License-Identifier: Apache-2.0 */
/* The message for patterns that match nothing. */
#include "ops/source/no_files.h"

#include <string.h>

/* What a pattern that matches nothing may have been meant to be, or "". */
static const char *meant(const char *pattern)
{
    if (pattern[0] == '~' || strchr(pattern, '$'))
        return " (~ and variables are not expanded)";
    if (pattern[0] != '/' && !strstr(pattern, "://"))
        return " (a path that does not begin with / is looked for where the worker was started)";
    return "";
}

int cw_no_files(const struct cw_str_list *patterns, struct cw_err *err)
{
    const char *why = meant(patterns->v[0]);
    if (patterns->n > 1)
        return cw_err_set(err, CW_E_NOT_FOUND, "pattern \"%s\" and %zu more: no files match%s",
                          patterns->v[0], patterns->n - 1, why);
    return cw_err_set(err, CW_E_NOT_FOUND, "pattern \"%s\": no files match%s", patterns->v[0], why);
}
