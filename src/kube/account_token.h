/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of service accounts (JSON Web Tokens): what one says of itself, which is believed only as a
 * reason not to ask the API server about it. Pure functions. */
#ifndef CW_KUBE_ACCOUNT_TOKEN_H
#define CW_KUBE_ACCOUNT_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CW_ACCOUNT_BYTES 320 /* of "NAMESPACE:NAME" with its end */

/* Reads "system:serviceaccount:NAMESPACE:NAME", which is what an API server calls an account; false: it
 * is somebody else, or text is NULL. */
bool cw_account_of_user(const char *user, char ret_account[CW_ACCOUNT_BYTES]);

/* Checks that a token can be one of a service account for the audience, and has not expired at wall_ms.
 * *ret_expires_ms: when it does, in ms since 1970; INT64_MAX: it does not say. DENIED: the message says
 * what is wrong, and shows nothing of the token. */
int cw_account_token_check(const char *token, const char *audience, int64_t wall_ms,
                           int64_t *ret_expires_ms, struct cw_err *err);

#endif
