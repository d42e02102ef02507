/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the token's file. */
#include "kube/kube_token.h"

#include "base/mem.h"
#include "base/str.h"
#include "kube/kube_file.h"

#define READ_AGAIN_MS 60000
#define FILE_MAX ((size_t)64 << 10)

void cw_kube_token_init(struct cw_kube_token *token, const char *text, const char *file)
{
    token->file = cw_mem_strdup(file);
    token->text = cw_mem_strdup(text);
    token->read_ms = INT64_MIN / 2;
}

void cw_kube_token_fini(struct cw_kube_token *token)
{
    cw_mem_free(token->file);
    cw_kube_forget(token->text);
    *token = (struct cw_kube_token){0};
}

bool cw_kube_token_renew(struct cw_kube_token *token, int64_t now_ms)
{
    char *text = NULL;

    if (!token->file)
        return false;
    token->read_ms = now_ms;
    if (cw_kube_file_read(token->file, FILE_MAX, &text, NULL) != CW_OK ||
        cw_kube_token_check(text, NULL) != CW_OK || cw_str_eq(text, token->text)) {
        cw_kube_forget(text);
        return false;
    }
    cw_kube_forget(token->text);
    token->text = text;
    return true;
}

const char *cw_kube_token_get(struct cw_kube_token *token, int64_t now_ms)
{
    if (token->file && now_ms - token->read_ms >= READ_AGAIN_MS)
        (void)cw_kube_token_renew(token, now_ms);
    return token->text;
}
