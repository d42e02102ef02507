/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and writes URLs. */
#include "io/source_url.h"

#include <string.h>
#include <strings.h>

static bool has_scheme(const char *url, const char *name)
{
    size_t n = strlen(name);
    return strncmp(url, name, n) == 0 && strncmp(url + n, "://", 3) == 0;
}

#define CW_IO_SCHEME(name_, text_) text_,
static const char *const schemes[] = {
#include "io/scheme_list.h"
};
#undef CW_IO_SCHEME

const char *cw_url_remote_scheme(const char *url)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(schemes); i++)
        if (has_scheme(url, schemes[i]))
            return schemes[i];
    return NULL;
}

void cw_url_add_schemes(struct cw_str *str)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(schemes); i++)
        cw_str_addf(str, "%s%s", i ? ", " : "", schemes[i]);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void cw_url_encode(struct cw_str *str, const char *bytes, size_t n, bool keep_slash)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("-._~", c)) || (c == '/' && keep_slash);
        if (plain)
            cw_str_add_char(str, (char)c);
        else
            cw_str_addf(str, "%%%02X", c);
    }
}

void cw_url_decode(struct cw_str *str, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_coded =
            text[i] == '%' && i + 2 < n && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
        if (!is_coded) {
            cw_str_add_char(str, text[i]);
            continue;
        }
        cw_str_add_char(str, (char)(hex(text[i + 1]) * 16 + hex(text[i + 2])));
        i += 2;
    }
}

/* Whether a component, decoded, is "." or "..". */
static bool is_dots(const char *p, size_t n)
{
    size_t dots = 0;
    for (size_t i = 0; i < n; dots++) {
        if (p[i] == '.')
            i++;
        else if (i + 2 < n && p[i] == '%' && p[i + 1] == '2' && (p[i + 2] | 0x20) == 'e')
            i += 3;
        else
            return false;
    }
    return dots == 1 || dots == 2;
}

/* A question mark ends no component: in a key of S3 it is a byte like others. */
static int check_path(const char *url, const char *path, struct cw_err *err)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/"), name_n = strcspn(p, "/?#");
        if (is_dots(p, n) || is_dots(p, name_n))
            return cw_err_set(err, CW_E_INVALID, "%s: \".\" and \"..\" may not be parts of a URL",
                              url);
        p += n;
        p += *p == '/';
    }
    return 0;
}

/* Whether a URL of HTTP has a parameter that lets everybody who knows it read. */
static bool is_signed(const char *url)
{
    static const char *const names[] = {
        "X-Amz-Signature=", "X-Goog-Signature=", "Signature=", "sig="};
    const char *query = strncmp(url, "http", 4) == 0 ? strchr(url, '?') : NULL;
    for (const char *p = query; p; p = strchr(p, '&')) {
        p++;
        for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
            if (strncasecmp(p, names[i], strlen(names[i])) == 0)
                return true;
    }
    return false;
}

bool cw_url_is_plain(const char *url)
{
    const char *host = strstr(url, "://");
    if (!host)
        return false;
    host += 3;
    const char *end = host + strcspn(host, "?#"), *p = host + strcspn(host, "/?#");
    if (memchr(host, '@', (size_t)(p - host)))
        return false;
    while (p < end) {
        size_t n = strcspn(p, "/?#");
        if (is_dots(p, n))
            return false;
        p += n + (p[n] == '/');
    }
    return true;
}

int cw_url_check(const char *url, struct cw_err *err)
{
    const char *host = strstr(url, "://");
    if (!host)
        return cw_err_set(err, CW_E_INVALID, "%s: is no URL", url);
    host += 3;
    size_t n = strcspn(host, "/?#");
    if (memchr(host, '@', n))
        return cw_err_set(err, CW_E_INVALID,
                          "%.*s...: names and passwords do not belong in a URL; workers have their "
                          "own credentials (docs/sources.md)",
                          (int)(host - url), url);
    if (is_signed(url))
        return cw_err_set(err, CW_E_INVALID,
                          "%.*s: a URL that is signed does not belong in a pipeline; workers have "
                          "their own credentials (docs/sources.md)",
                          (int)strcspn(url, "?"), url);
    if (n == 0)
        return cw_err_set(err, CW_E_INVALID, "%s: has no host or bucket", url);
    for (const char *p = url; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return cw_err_set(err, CW_E_INVALID, "%.*s...: a control character in a URL",
                              (int)(p - url), url);
    return check_path(url, host + n, err);
}
