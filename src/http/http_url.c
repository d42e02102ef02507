/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_url.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static bool is_http(CURLU *url)
{
    char *scheme = NULL;
    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return false;
    bool is = strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0;
    curl_free(scheme);
    return is;
}

/* Appends a part of a URL. */
static bool add_part(CURLU *url, CURLUPart part, unsigned flags, struct cw_str *str)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return false;
    cw_str_add(str, text);
    curl_free(text);
    return true;
}

bool cw_http_url_resolve(const char *base, const char *location, struct cw_str *ret_url)
{
    CURLU *url = curl_url();
    CW_ASSERT(url);
    bool ok = curl_url_set(url, CURLUPART_URL, base, 0) == CURLUE_OK &&
              curl_url_set(url, CURLUPART_URL, location, 0) == CURLUE_OK && is_http(url) &&
              add_part(url, CURLUPART_URL, 0, ret_url);
    curl_url_cleanup(url);
    return ok;
}

bool cw_http_url_authority(const char *text, struct cw_str *ret_authority)
{
    CURLU *url = curl_url();
    CW_ASSERT(url);
    bool ok = curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK && is_http(url) &&
              add_part(url, CURLUPART_HOST, 0, ret_authority);
    if (ok)
        cw_str_add_char(ret_authority, ':');
    ok = ok && add_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, ret_authority);
    curl_url_cleanup(url);
    return ok;
}

char *cw_http_url_shown(const char *url)
{
    size_t n = strcspn(url, "?#");
    const char *scheme = strstr(url, "://");
    const char *host = scheme && scheme < &url[n] ? scheme + strlen("://") : url;
    const char *at = memrchr(host, '@', strcspn(host, "/?#"));
    const char *rest = at ? at + 1 : host;
    return cw_mem_printf("%.*s%.*s", (int)(host - url), url, (int)(&url[n] - rest), rest);
}
