/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that strangers show: the input is a token, the claims of one, and a user's name. */
#include <string.h>

#include "kube/account_token.h"
#include "support/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const char *token)
{
    int64_t expires_ms = -1;
    struct cw_err err = {0};
    int rc = cw_account_token_check(token, "cachew", INT64_C(1700000000000), &expires_ms, &err);
    CW_ASSERT(rc == CW_OK ? expires_ms >= 0 : rc == CW_E_DENIED && err.msg[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    cw_autofree char *text = cw_mem_strndup((const char *)data, n);
    cw_autofree char *token = jwt(text);
    char account[CW_ACCOUNT_BYTES];
    check(text);
    check(token);
    if (cw_account_of_user(text, account))
        CW_ASSERT(strcmp(account, text + strlen("system:serviceaccount:")) == 0);
    return 0;
}
