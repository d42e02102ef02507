/* SPDX-License-Identifier: Apache-2.0 */
/* The schemes http and https. A server cannot be asked what it has: names are given, with braces for
 * many. A host may have a bearer token, in the file that CACHEW_HTTP_TOKENS names: lines "HOST TOKEN"
 * or "HOST:PORT TOKEN". It is sent to that host alone, by https, or by http to this host itself. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/http_url.h"
#include "io/brace.h"
#include "io/remote/object.h"
#include "io/remote/small_file.h"

/* ---- tokens ---- */

/* Finds the token of a host in the text of the file. Returns its length. */
static size_t find_token(const char *text, const char *host, size_t host_n, const char *authority,
                         const char **ret_token)
{
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\r\n"), name_n = strcspn(line, " \t\r\n");
        const char *token = line + name_n + strspn(line + name_n, " \t");
        bool is_it = (name_n == host_n && strncasecmp(line, host, host_n) == 0) ||
                     (name_n == strlen(authority) && strncasecmp(line, authority, name_n) == 0);
        if (is_it && token < line + n) {
            *ret_token = token;
            return strcspn(token, " \t\r\n");
        }
        line += n;
        line += strspn(line, "\r\n");
    }
    return 0;
}

static bool may_have_token(const char *url, const char *host, size_t n)
{
    static const char *const here[] = {"127.0.0.1", "localhost", "[::1]"};
    if (strncmp(url, "https:", 6) == 0)
        return true;
    for (size_t i = 0; i < CW_ARRAY_LEN(here); i++)
        if (strlen(here[i]) == n && strncasecmp(host, here[i], n) == 0)
            return true;
    return false;
}

static int add_token(const char *url, struct cw_wire *wire, struct cw_err *err)
{
    const char *path = getenv("CACHEW_HTTP_TOKENS"), *token = NULL;
    CW_STR_AUTO authority = {0};
    struct cw_str text = {0};
    if (!path || !*path || !cw_http_url_authority(url, &authority))
        return 0;
    size_t host_n = (size_t)(strrchr(authority.s, ':') - authority.s);
    if (!may_have_token(url, authority.s, host_n))
        return 0;
    int rc = cw_small_file_read(path, &text, err);
    if (rc < 0)
        return cw_err_wrap(err, "CACHEW_HTTP_TOKENS");
    size_t n = find_token(cw_str_text(&text), authority.s, host_n, authority.s, &token);
    if (n > 0)
        cw_wire_add(wire, "Authorization: Bearer %.*s", (int)n, token);
    cw_small_file_forget(text.s);
    return 0;
}

/* ---- requests ---- */

static int make(const struct cw_ask *ask, struct cw_wire *ret_wire, struct cw_err *err)
{
    ret_wire->url = cw_mem_strdup(ask->url);
    for (size_t i = 0; i < ask->headers_n; i++)
        cw_wire_add(ret_wire, "%s", ask->headers[i]);
    return add_token(ask->url, ret_wire, err);
}

static const struct cw_dialect dialect = {.make = make, .follows = true};

static int http_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                     struct cw_err *err)
{
    return cw_object_stat(&dialect, url, stop, ret_info, err);
}

static int http_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                     struct cw_err *err)
{
    return cw_object_open(&dialect, url, stop, file, err);
}

static int http_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                     struct cw_io_list *list, struct cw_err *err)
{
    struct cw_paths texts = {0};
    (void)entries_max;
    (void)stop;
    if (pattern[strcspn(pattern, "*[?")] == '*')
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "pattern \"%s\": a server of HTTP does not say what it has: give names, "
                          "or braces such as {000..127}",
                          pattern);
    int rc = cw_brace_is_in(pattern) ? cw_brace_expand(pattern, &texts, err) : 0;
    for (size_t i = 0; i < texts.n && rc == 0; i++)
        cw_io_list_add(list, cw_steal(&texts.v[i]), -1, 0);
    if (rc == 0 && texts.n == 0)
        cw_io_list_add(list, cw_mem_strdup(pattern), -1, 0);
    cw_paths_fini(&texts);
    return rc;
}

static void http_fetch(const char *url, struct cw_io_fetch *fetch)
{
    cw_object_fetch(&dialect, url, fetch);
}

#define SCHEME(name_)                                                                              \
    {                                                                                              \
        .name = (name_), .stat = http_stat, .open = http_open, .close = cw_object_close,           \
        .read = cw_object_read, .is_unchanged = cw_object_is_unchanged, .glob = http_glob,         \
        .fetch = http_fetch, .cancel = cw_object_cancel                                            \
    }
const struct cw_io_scheme cw_io_scheme_http = SCHEME("http");
const struct cw_io_scheme cw_io_scheme_https = SCHEME("https");
