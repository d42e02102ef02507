/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers of include/cachew. What they declare is exported by the library (the compiler
 * hides all else), so every file that defines a public function includes this header. */
#ifndef CW_CLIENT_MODEL_PUBLIC_H
#define CW_CLIENT_MODEL_PUBLIC_H

#pragma GCC visibility push(default)
#include "cachew/cachew.h"
#pragma GCC visibility pop

#include "base/err.h"

/* Copies an error into the caller's struct (may be NULL), and returns its code. */
int cw_public_fail(struct cachew_error *error, const struct cw_err *err);
/* Writes an error into the caller's struct (may be NULL), and returns `code`. */
int cw_public_set(struct cachew_error *error, int code, const char *fmt, ...) CW_PRINTF(3, 4);

#endif
