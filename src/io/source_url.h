/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of sources: what none may contain, and how bytes of names are written in them. Pure. */
#ifndef CW_IO_SOURCE_URL_H
#define CW_IO_SOURCE_URL_H

#include "base/err.h"
#include "base/str.h"

/* Returns what is written before "://" if the text begins with the scheme of a server that this
 * version knows, otherwise NULL: it is a path. */
const char *cw_url_remote_scheme(const char *url);
/* Appends the names of these schemes: "gluster, gs, http". */
void cw_url_add_schemes(struct cw_str *str);
/* INVALID: a user's name or password, a signature, a component "." or ".." (also as "%2e"), a byte that is no
 * part of a URL, or no host. The message has no URL in which a password may be. */
int cw_url_check(const char *url, struct cw_err *err);
/* Whether a URL that a server has given is free of names, passwords, "." and "..", so that where it leads
 * can be seen. It may have a signature, which is for us. */
bool cw_url_is_plain(const char *url);
/* Appends bytes percent-encoded as RFC 3986 says: all but letters, digits and "-._~"; "/" stays as
 * it is if keep_slash is set. */
void cw_url_encode(struct cw_str *str, const char *bytes, size_t n, bool keep_slash);
/* Decodes percent-encoded bytes and appends them; a "%" that begins none is left as it is. */
void cw_url_decode(struct cw_str *str, const char *text, size_t n);

#endif
