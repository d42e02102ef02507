/* SPDX-License-Identifier: Apache-2.0 */
/* The token by which Google's storage is asked. It is got for a service account, whose file
 * GOOGLE_APPLICATION_CREDENTIALS names, by a signed request (RFC 7523), or of the metadata server that
 * GCE_METADATA_HOST names, and got anew before it ends. Without both there is none. Any thread. */
#ifndef CW_IO_REMOTE_GS_TOKEN_H
#define CW_IO_REMOTE_GS_TOKEN_H

#include "io/remote/fetch.h"

/* Sees to it that there is a token that is good for some minutes, if there can be one. Not on the loop
 * thread: it may wait for a server. */
int cw_gs_token_ensure(const struct cw_stop *stop, struct cw_err *err);
/* Adds the token to a request, if there is one. It does not wait. */
void cw_gs_token_add(struct cw_wire *wire);
/* Forgets the token, if there is one: a server has refused it. Returns whether there was one. */
bool cw_gs_token_drop(void);

#endif
