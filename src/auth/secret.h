/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets: random bytes that nobody can guess, and comparisons that do not tell by their time how
 * much was right. Any thread. */
#ifndef CW_AUTH_SECRET_H
#define CW_AUTH_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define CW_SECRET_BYTES 16
#define CW_SECRET_TEXT_BYTES (2 * CW_SECRET_BYTES + 1)

/* Fills in random bytes from the kernel. */
void cw_secret_make(void *bytes, size_t n);
/* Prints CW_SECRET_BYTES bytes in hex. */
void cw_secret_text(const void *bytes, char ret_text[CW_SECRET_TEXT_BYTES]);
/* Compares in a time that depends only on the length of what was `given`. */
bool cw_secret_equal(const void *given, size_t given_n, const void *secret, size_t secret_n);

#endif
