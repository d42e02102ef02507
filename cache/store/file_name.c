/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for names of files in a store, and for temporary files beside them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/str.h"
#include "cache/store/backend.h"

#define OLD_TEMP_MS (3600 * (int64_t)1000)

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/* Whether a name consists of parts of at least one letter, none of which begins with '.'. */
static bool is_path(const char *name)
{
    bool begins = true; /* the next letter begins a part */

    for (; *name; name++) {
        if (*name == '/' ? begins : !is_name_char(*name) || (begins && *name == '.'))
            return false;
        begins = *name == '/';
    }
    return !begins;
}

int cw_store_check_name(const char *name, struct cw_err *err)
{
    if (strnlen(name, CW_STORE_NAME_MAX + 1) > CW_STORE_NAME_MAX)
        return cw_err_set(err, CW_E_INVALID, "store: the name %.40s... has more than %d bytes",
                          name, CW_STORE_NAME_MAX);
    if (!is_path(name))
        return cw_err_set(err, CW_E_INVALID,
                          "store: \"%s\" is no name of a file: parts of A-Z a-z 0-9 . _ -, none of "
                          "which begins with '.'",
                          name);
    return 0;
}

void cw_store_temp_name(char ret_name[CW_STORE_TEMP_BYTES])
{
    snprintf(ret_name, CW_STORE_TEMP_BYTES, ".tmp-%016llx",
             (unsigned long long)cw_rng_process_id());
}

bool cw_store_is_old_temp(const char *part, int64_t mtime_ms, bool unwritten)
{
    return cw_str_starts(part, ".tmp-") &&
           (unwritten || cw_clock_wall_ms() - mtime_ms > OLD_TEMP_MS);
}
