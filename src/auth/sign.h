/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums and signatures of requests to services of others. Any thread. */
#ifndef CW_AUTH_SIGN_H
#define CW_AUTH_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define CW_SHA256_BYTES 32

void cw_sha256(const void *p, size_t n, uint8_t ret_sum[CW_SHA256_BYTES]);
/* HMAC with SHA-256 (RFC 2104). */
void cw_hmac_sha256(const void *key, size_t key_n, const void *p, size_t n,
                    uint8_t ret_sum[CW_SHA256_BYTES]);
/* Appends bytes in hex. */
void cw_sign_add_hex(struct cw_str *str, const uint8_t *bytes, size_t n);
/* Appends bytes in base64 for URLs, without padding (RFC 4648, section 5). */
void cw_sign_add_base64url(struct cw_str *str, const void *bytes, size_t n);
/* Appends the signature RS256 (RSA, PKCS 1 v1.5, SHA-256) of bytes in base64 for URLs. key: a private
 * key in PEM form. INVALID, which says nothing of the key but that it is none. */
int cw_sign_add_rs256(struct cw_str *str, const char *key, const void *bytes, size_t n,
                      struct cw_err *err);

#endif
