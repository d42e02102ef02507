/* SPDX-License-Identifier: Apache-2.0 */
/* Signature version 4 of AWS, as S3 wants it: each request is signed with a key that is derived from the
 * secret, the day and the region. Pure. */
#ifndef CW_IO_REMOTE_SIGV4_H
#define CW_IO_REMOTE_SIGV4_H

#include "io/remote/fetch.h"

struct cw_sigv4_request {
    const char *method;
    const char *host;  /* as the header Host has it */
    const char *path;  /* encoded once, from "/" on */
    const char *query; /* NULL: none; else encoded, and sorted by name */
    const char *body;  /* NULL: none */
    /* "Name: value" of further headers that are signed; each is on the wire already. */
    const char *const *headers;
    size_t headers_n;
};
struct cw_sigv4_who {
    const char *id, *secret;
    const char *token; /* of a session; NULL: none */
    const char *region;
    const char *service; /* "s3" */
};
/* Adds the headers that sign a request at that time, in seconds since 1970. */
void cw_sigv4_sign(const struct cw_sigv4_request *request, const struct cw_sigv4_who *who,
                   int64_t now_s, struct cw_wire *wire);

#endif
