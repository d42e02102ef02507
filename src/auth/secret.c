/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/secret.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

#include "base/compiler.h"
#include "base/err.h"

void cw_secret_make(void *bytes, size_t n)
{
    char *p = bytes;
    while (n > 0) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0) {
            CW_ASSERT(errno == EINTR);
            continue;
        }
        p += got;
        n -= (size_t)got;
    }
}

void cw_secret_text(const void *bytes, char ret_text[CW_SECRET_TEXT_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *p = bytes;
    for (size_t i = 0; i < CW_SECRET_BYTES; i++) {
        ret_text[2 * i] = digits[p[i] >> 4];
        ret_text[2 * i + 1] = digits[p[i] & 15];
    }
    ret_text[2 * CW_SECRET_BYTES] = '\0';
}

bool cw_secret_equal(const void *given, size_t given_n, const void *secret, size_t secret_n)
{
    const volatile uint8_t *a = given, *b = secret;
    size_t differs = given_n ^ secret_n;
    /* A secret of another length is read round and round, so that its length is not told. */
    for (size_t i = 0; i < given_n; i++)
        differs |= secret_n > 0 ? (size_t)(a[i] ^ b[i % secret_n]) : 1;
    return differs == 0 && secret_n > 0;
}
