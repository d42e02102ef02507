/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the names of jobs, tenants and caches. */
#include "base/name.h"

#include <string.h>

#include "base/str.h"

/* Whether the character is one of U+0000 to U+001F, or U+007F to U+009F. */
static bool is_control(const unsigned char *p, size_t len)
{
    return (len == 1 && (p[0] < 0x20 || p[0] == 0x7f)) || (len == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

int cw_name_check_job(const char *name, struct cw_err *err)
{
    const unsigned char *p = (const unsigned char *)name;
    size_t n = strlen(name), len;
    if (n > CW_JOB_NAME_MAX)
        return cw_err_set(err, CW_E_INVALID, "the job's name has %zu bytes, at most %d are allowed",
                          n, CW_JOB_NAME_MAX);
    for (size_t i = 0; i < n; i += len) {
        len = cw_str_utf8_len(p + i, n - i);
        if (len == 0)
            return cw_err_set(err, CW_E_INVALID,
                              "the job's name is no valid UTF-8 from byte %zu on", i);
        if (is_control(p + i, len))
            return cw_err_set(err, CW_E_INVALID, "the job's name has control characters");
    }
    return 0;
}

static bool are_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\0' ||
            !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", p[i]))
            return false;
    return true;
}

bool cw_name_is_tenant(const char *p, size_t n)
{
    return n > 0 && n <= CW_TENANT_NAME_MAX && p[0] != '.' && are_plain(p, n);
}

bool cw_name_is_pod(const char *name)
{
    size_t n = strnlen(name, CW_POD_NAME_MAX + 1);
    return n > 0 && n <= CW_POD_NAME_MAX && are_plain(name, n);
}

static bool is_part(const char *p, size_t n)
{
    return n > 0 && p[0] != '.' && are_plain(p, n);
}

int cw_name_check_cache(const char *name, struct cw_err *err)
{
    CW_STR_AUTO shown = {0};
    size_t n = strnlen(name, CW_CACHE_NAME_MAX + 1), first = strcspn(name, "/");
    bool one = first >= n;
    if (n == 0 || (n <= CW_CACHE_NAME_MAX && is_part(name, one ? n : first) &&
                   (one || is_part(name + first + 1, n - first - 1))))
        return 0;
    cw_str_add_json(&shown, name, CW_MIN(n, (size_t)CW_CACHE_NAME_MAX));
    return cw_err_set(err, CW_E_INVALID,
                      "%s is no name of a cache: one or two parts with a / between them, of "
                      "letters, digits, . _ -, not beginning with a dot",
                      cw_str_text(&shown));
}

int cw_name_check_tenant(const char *name, struct cw_err *err)
{
    CW_STR_AUTO shown = {0};
    size_t n = strlen(name);
    if (n == 0 || cw_name_is_tenant(name, n))
        return 0;
    cw_str_add_json(&shown, name, n > CW_TENANT_NAME_MAX ? CW_TENANT_NAME_MAX : n);
    return cw_err_set(
        err, CW_E_INVALID,
        "%s is no name of a tenant: letters, digits, '.', '_', '-', at most %d, no '.' first",
        cw_str_text(&shown), CW_TENANT_NAME_MAX);
}
