/* SPDX-License-Identifier: Apache-2.0 */
#include "base/short_reason.h"

#include <stdio.h>
#include <string.h>

/* What stands behind the last ": "; all of it if there is none. */
static const char *last_part(const char *msg)
{
    const char *last = msg;
    for (const char *at = strstr(msg, ": "); at; at = strstr(at + 2, ": "))
        last = at[2] != '\0' ? at + 2 : last;
    return last;
}

void cw_short_reason(const char *address, const char *msg, char *text, size_t cap)
{
    size_t n = strlen(address);
    msg = msg ? msg : "";
    if (strstr(msg, "DNS resolution failed"))
        snprintf(text, cap, "its host name cannot be resolved: %s", last_part(msg));
    else if (strstr(msg, "last error: "))
        snprintf(text, cap, "%s", last_part(msg));
    else if (strncmp(msg, address, n) == 0 && msg[n] == ':' && msg[n + 1] == ' ')
        snprintf(text, cap, "%s", msg + n + 2);
    else
        snprintf(text, cap, "%s", msg);
}
