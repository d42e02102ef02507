/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers, with what they declare made visible outside the library (all else is
 * hidden). Every file of this folder that defines a public function includes it first. */
#ifndef CW_CLIENT_PUBLIC_H
#define CW_CLIENT_PUBLIC_H

#pragma GCC visibility push(default)
#include "cachew/cachew.h"
#pragma GCC visibility pop

#include "base/err.h"

/* Hands an error to the caller's struct (may be NULL); returns its code. */
int cw_public_fail(struct cachew_error *error, const struct cw_err *err);
/* Makes one on the spot. */
int cw_public_set(struct cachew_error *error, int code, const char *fmt, ...) CW_PRINTF(3, 4);

#endif
