/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the middle part of a token, which is JSON in base64 for URLs. */
#include "kube/account_token.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_file.h"

#define USER_PREFIX "system:serviceaccount:"
#define NAMESPACE_MAX 63 /* bytes of a namespace's name */
#define NAME_MAX_BYTES 253
#define TOKEN_MAX 65536
#define SKEW_MS 30000 /* the API server's clock may be so late */
#define FAR_S ((INT64_MAX - SKEW_MS) / 1000)

static bool is_name(const char *name, size_t n, size_t max)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    return n > 0 && n <= max && strspn(name, letters) >= n;
}

bool cw_account_of_user(const char *user, char ret_account[CW_ACCOUNT_BYTES])
{
    if (!user || !cw_str_starts(user, USER_PREFIX))
        return false;
    const char *name_space = user + strlen(USER_PREFIX);
    size_t n = strcspn(name_space, ":");
    const char *name = &name_space[n] + (name_space[n] == ':');
    if (!is_name(name_space, n, NAMESPACE_MAX) || memchr(name_space, '.', n) ||
        !is_name(name, strlen(name), NAME_MAX_BYTES))
        return false;
    snprintf(ret_account, CW_ACCOUNT_BYTES, "%s", name_space);
    return true;
}

/* Makes of base64 for URLs the usual one: two letters differ, and '=' fills up the end. */
static char *usual_base64(const char *part, size_t n)
{
    char *text = cw_mem_new(n + 4);
    memcpy(text, part, n);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
    while (n % 4 != 0)
        text[n++] = '=';
    text[n] = '\0';
    return text;
}

/* Finds the part between the two points that a token has; returns 0 if it has another form. */
static size_t find_claims(const char *token, const char **ret_part)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t head = strspn(token, letters);
    if (head == 0 || token[head] != '.' || strlen(token) > TOKEN_MAX)
        return 0;
    const char *part = &token[head + 1];
    size_t n = strspn(part, letters);
    const char *end = &part[n];
    if (n == 0 || *end != '.' || end[1] == '\0' || end[1 + strspn(end + 1, letters)] != '\0')
        return 0;
    *ret_part = part;
    return n;
}

static int read_claims(const char *token, struct cw_value *ret_claims)
{
    const char *part;
    char *json = NULL;
    size_t n = find_claims(token, &part);
    if (n == 0)
        return CW_E_INVALID;
    char *usual = usual_base64(part, n);
    int rc = cw_kube_base64(usual, &json, NULL);
    cw_kube_forget(usual);
    if (rc == CW_OK)
        rc = cw_value_parse(json, strlen(json), NULL, ret_claims, NULL);
    cw_kube_forget(json);
    return rc;
}

static bool has_audience(const struct cw_value *claims, const char *audience)
{
    size_t n;
    const char *one = cw_kube_text(claims, "aud");
    const struct cw_value *v = cw_kube_list(claims, "aud", &n);
    for (size_t i = 0; i < n; i++)
        if (v[i].type == CW_VALUE_STR && cw_str_eq(v[i].s, audience))
            return true;
    return one && cw_str_eq(one, audience);
}

static int check_claims(const struct cw_value *claims, const char *audience, int64_t wall_ms,
                        int64_t *ret_expires_ms, struct cw_err *err)
{
    char account[CW_ACCOUNT_BYTES];
    int64_t expires_s = FAR_S;
    if (claims->type != CW_VALUE_OBJECT ||
        !cw_account_of_user(cw_kube_text(claims, "sub"), account))
        return cw_err_set(err, CW_E_DENIED, "it is no token of a service account");
    if (!has_audience(claims, audience))
        return cw_err_set(
            err, CW_E_DENIED,
            "it is a token of the service account %s, and not for the audience \"%s\"", account,
            audience);
    bool has_end = cw_kube_i64(claims, "exp", &expires_s) && expires_s < FAR_S;
    int64_t expires_ms = has_end ? CW_MAX(expires_s, 0) * 1000 : INT64_MAX;
    if (has_end && expires_ms + SKEW_MS < wall_ms)
        return cw_err_set(err, CW_E_DENIED,
                          "it is a token of the service account %s that has expired", account);
    *ret_expires_ms = expires_ms;
    return CW_OK;
}

int cw_account_token_check(const char *token, const char *audience, int64_t wall_ms,
                           int64_t *ret_expires_ms, struct cw_err *err)
{
    struct cw_value claims = {0};
    if (read_claims(token, &claims) != CW_OK)
        return cw_err_set(err, CW_E_DENIED, "it is no token of a service account");
    int rc = check_claims(&claims, audience, wall_ms, ret_expires_ms, err);
    cw_value_fini(&claims);
    return rc;
}
