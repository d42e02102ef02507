/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of requests, by libcurl's parser: the same that makes the requests. Pure. */
#ifndef CW_HTTP_HTTP_URL_H
#define CW_HTTP_HTTP_URL_H

#include <stdbool.h>
#include "base/str.h"

/* Appends where a response at the URL `base` sends us by its header Location, which may be relative.
 * Returns false if that is no URL of http or https. */
bool cw_http_url_resolve(const char *base, const char *location, struct cw_str *ret_url);
/* Appends "host:port", the port also where the URL does not say it. Returns false if it is no URL of
 * http or https. */
bool cw_http_url_authority(const char *url, struct cw_str *ret_authority);
/* Returns what may be logged of a URL: without name and password, and without what follows '?' or '#'. */
char *cw_http_url_shown(const char *url) CW_MUST_CHECK;

#endif
