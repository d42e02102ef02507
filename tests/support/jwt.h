/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of service accounts as an API server makes them, but for the signature, which says nothing. */
#ifndef CW_TESTS_JWT_H
#define CW_TESTS_JWT_H

#include <string.h>

#include "auth/sign.h"
#include "base/mem.h"

/* A token with these claims, which are JSON; freed with cw_mem_free. */
static inline char *jwt(const char *claims)
{
    static const char head[] = "{\"alg\":\"RS256\",\"kid\":\"test\"}";
    struct cw_str token = {0};
    cw_sign_add_base64url(&token, head, strlen(head));
    cw_str_add_char(&token, '.');
    cw_sign_add_base64url(&token, claims, strlen(claims));
    cw_str_add(&token, ".c2lnbmF0dXJl");
    return cw_str_take(&token);
}

/* The usual one: of the account "NAMESPACE:NAME", for one audience, until so many seconds since 1970;
 * `number` makes it another one. */
static inline char *jwt_of(const char *account, const char *audience, long long expires_s,
                           int number)
{
    cw_autofree char *claims =
        cw_mem_printf("{\"aud\":[\"%s\"],\"exp\":%lld,\"iss\":\"https://kubernetes.default.svc\","
                      "\"jti\":\"%d\",\"sub\":\"system:serviceaccount:%s\"}",
                      audience, expires_s, number, account);
    return jwt(claims);
}

#endif
