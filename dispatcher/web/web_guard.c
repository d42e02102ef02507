/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/json_member.h"
#include "dispatcher/access/access.h"
#include "dispatcher/web/web_int.h"

#define HOST_BYTES 256
#define BEARER "Bearer "

enum { UNAUTHORIZED = 401, FORBIDDEN = 403 };

/* No script but the page's own file, nothing from elsewhere, and in nobody's frame. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "                    \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

void cw_web_add_headers(struct cw_page_request *request)
{
    static const char *const headers[][2] = {{"Content-Security-Policy", POLICY},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Cross-Origin-Opener-Policy", "same-origin"},
                                             {"Cache-Control", "no-store"}};
    for (size_t i = 0; i < CW_ARRAY_LEN(headers); i++)
        cw_page_add_header(request, headers[i][0], headers[i][1]);
}

void cw_web_answer_json(struct cw_page_request *request, struct cw_str *json)
{
    cw_web_add_headers(request);
    cw_page_set_type(request, "application/json; charset=utf-8");
    cw_http_answer(request, true, json);
}

void cw_web_refuse(struct cw_page_request *request, unsigned status, const char *why)
{
    struct cw_str text = {0};
    cw_str_add_char(&text, '{');
    cw_member_text(&text, "error", why);
    cw_str_add(&text, "}\n");
    cw_page_set_status(request, status);
    cw_web_answer_json(request, &text);
}

/* ---- Host and Origin ---- */

/* Copies the host of "host:port" or "[v6]:port", without brackets. */
static bool split_host(const char *text, char ret_host[HOST_BYTES])
{
    bool bracket = text[0] == '[';
    const char *begin = bracket ? text + 1 : text;
    size_t n = strcspn(begin, bracket ? "]" : ":");
    if (n == 0 || n >= HOST_BYTES || (bracket && begin[n] != ']'))
        return false;
    snprintf(ret_host, HOST_BYTES, "%.*s", (int)n, begin);
    return true;
}

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

bool cw_web_host_is_own(const struct cw_dispatcher *d, const char *text)
{
    char host[HOST_BYTES], own[HOST_BYTES] = "";
    if (!split_host(text, host))
        return false;
    if (is_address(host) || strcasecmp(host, "localhost") == 0)
        return true;
    if (gethostname(own, sizeof(own) - 1) == 0 && strcasecmp(host, own) == 0)
        return true;
    for (size_t i = 0; i < d->options.web_hosts.n; i++)
        if (strcasecmp(host, d->options.web_hosts.v[i]) == 0)
            return true;
    return false;
}

/* "http://HOST" or "https://HOST", where HOST is what the request names. */
static bool is_origin(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");
    return at && (cw_str_starts(origin, "http://") || cw_str_starts(origin, "https://")) &&
           strcasecmp(at + 3, host) == 0;
}

bool cw_web_is_own(struct cw_web *web, struct cw_page_request *request)
{
    const char *host = cw_page_header(request, "Host"), *origin = cw_page_header(request, "Origin"),
               *site = cw_page_header(request, "Sec-Fetch-Site");
    if (!host || !cw_web_host_is_own(web->d, host)) {
        cw_web_refuse(request, FORBIDDEN,
                      "this name is not known to be the dispatcher's: use its address, or start it "
                      "with --web-host NAME");
        return false;
    }
    bool is_foreign = origin ? !is_origin(origin, host)
                             : cw_page_is_post(request) && site && !cw_str_eq(site, "same-origin");
    if (is_foreign)
        cw_web_refuse(request, FORBIDDEN, "another page than the dispatcher's own asks for this");
    return !is_foreign;
}

/* ---- tokens ---- */

static const char *bearer(const struct cw_page_request *request)
{
    const char *text = cw_page_header(request, "Authorization");
    return text && cw_str_starts(text, BEARER) ? text + strlen(BEARER) : NULL;
}

bool cw_web_may_read(struct cw_web *web, struct cw_page_request *request, const char **ret_token)
{
    const struct cw_dispatcher *d = web->d;
    *ret_token = NULL;
    if (!cw_web_is_own(web, request))
        return false;
    if (!d->options.token_file && !d->options.token_review &&
        !cw_tls_options_are_set(&d->options.tls)) {
        bool is_local = cw_rpc_address_is_loopback(d->options.metrics_listen);
        if (!is_local)
            cw_web_refuse(request, FORBIDDEN,
                          "beyond the loopback address a token is needed for reading: start the "
                          "dispatcher with --token-file, or --metrics-listen 127.0.0.1:PORT");
        return is_local;
    }
    const struct cw_web_session *session = cw_web_session_of(web, request);
    *ret_token = session ? session->token : bearer(request);
    if (!*ret_token)
        cw_web_refuse(request, UNAUTHORIZED, "a token is needed");
    return *ret_token != NULL;
}
