/* SPDX-License-Identifier: Apache-2.0 */
/* Finds headers in the lines of a response. */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "http/http_client.h"

#define SPACES " \t"

static void copy_value(const char *value, const char *end, char *ret_value, size_t cap)
{
    value += CW_MIN(strspn(value, SPACES), (size_t)(end - value));
    while (end > value && strchr(SPACES "\r", end[-1]))
        end--;
    size_t n = CW_MIN((size_t)(end - value), cap - 1);
    memcpy(ret_value, value, n);
    ret_value[n] = '\0';
}

bool cw_http_header(const struct cw_http_response *response, const char *name, size_t nth,
                    char *ret_value, size_t cap)
{
    size_t n = strlen(name);

    for (const char *line = cw_str_text(response->head); *line;) {
        const char *end = line + strcspn(line, "\n");

        if (strncasecmp(line, name, n) == 0 && line[n] == ':' && nth-- == 0) {
            copy_value(line + n + 1, end, ret_value, cap);
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}
