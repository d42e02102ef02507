/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/gs_token.h"

#include <stdlib.h>
#include <string.h>

#include "auth/sign.h"
#include "base/clock.h"
#include "base/mem.h"
#include "conf/value.h"
#include "io/remote/small_file.h"

#define SCOPE "https://www.googleapis.com/auth/devstorage.read_only"
#define TOKEN_URI "https://oauth2.googleapis.com/token"
#define METADATA_PATH "/computeMetadata/v1/instance/service-accounts/default/token"
#define SPARE_MS INT64_C(300000) /* so long before its end a token is got anew */
#define ANSWER_MAX ((size_t)64 << 10)

static struct {
    struct cw_mutex getting; /* held while a token is got; taken before `mutex` */
    struct cw_mutex mutex;   /* guards what follows */
    char *text;
    int64_t until_ms;
} token = {.getting = CW_MUTEX_INIT, .mutex = CW_MUTEX_INIT};

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static bool is_good(void)
{
    cw_mutex_lock(&token.mutex);
    bool is = token.text && cw_clock_ms() < token.until_ms;
    cw_mutex_unlock(&token.mutex);
    return is;
}

static void set(const char *text, int64_t until_ms)
{
    cw_mutex_lock(&token.mutex);
    cw_small_file_forget(token.text);
    token.text = cw_mem_strdup(text);
    token.until_ms = until_ms;
    cw_mutex_unlock(&token.mutex);
}

bool cw_gs_token_drop(void)
{
    cw_mutex_lock(&token.mutex);
    bool was = token.text != NULL;
    cw_small_file_forget(token.text);
    token.text = NULL;
    cw_mutex_unlock(&token.mutex);
    return was;
}

void cw_gs_token_add(struct cw_wire *wire)
{
    cw_mutex_lock(&token.mutex);
    if (token.text)
        cw_wire_add(wire, "Authorization: Bearer %s", token.text);
    cw_mutex_unlock(&token.mutex);
}

/* ---- asking ---- */

static int make(const struct cw_ask *ask, struct cw_wire *ret_wire, struct cw_err *err)
{
    (void)err;
    ret_wire->url = cw_mem_strdup(ask->url);
    if (ask->body)
        cw_wire_add(ret_wire, "Content-Type: application/x-www-form-urlencoded");
    else
        cw_wire_add(ret_wire, "Metadata-Flavor: Google");
    return 0;
}

static const char *text_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *value =
        object->type == CW_VALUE_OBJECT ? cw_value_get(object, key) : NULL;
    return value && value->type == CW_VALUE_STR ? value->s : NULL;
}

/* Keeps the token of an answer. No byte of a header may be in it but what can be printed. */
static int take_answer(const struct cw_str *body, const char *url, struct cw_err *err)
{
    struct cw_value answer = {0};
    int rc = cw_value_parse(cw_str_text(body), body->len, url, &answer, NULL);
    const char *text = rc == 0 ? text_of(&answer, "access_token") : NULL;
    const struct cw_value *ends = text ? cw_value_get(&answer, "expires_in") : NULL;
    bool is_printable = text && *text;
    for (const char *p = text; p && *p; p++)
        is_printable = is_printable && *p > ' ' && *p < 0x7f;
    if (!is_printable || !ends || ends->type != CW_VALUE_I64)
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: the answer has no token", url);
    else
        set(text, cw_clock_ms() + CW_MIN(CW_MAX(ends->i, 0), INT64_C(86400)) * 1000 - SPARE_MS);
    cw_value_fini(&answer);
    return rc;
}

static int ask(const char *url, const char *body, const struct cw_stop *stop, struct cw_err *err)
{
    static const struct cw_dialect dialect = {.make = make};
    struct cw_fetch fetch = {.dialect = &dialect,
                             .ask = {.method = body ? "POST" : "GET", .url = url, .body = body},
                             .fd = -1,
                             .body_max = ANSWER_MAX};
    int rc = cw_fetch_run(&fetch, stop, err);
    if (rc == 0)
        rc = take_answer(&fetch.body, url, err);
    if (fetch.body.len > 0)
        explicit_bzero(fetch.body.s, fetch.body.len);
    cw_fetch_fini(&fetch);
    return rc;
}

/* ---- service accounts ---- */

/* What the account asks for, signed by its key (RFC 7519). */
static int write_claim(const char *email, const char *key, const char *uri,
                       struct cw_str *ret_claim, struct cw_err *err)
{
    static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
    CW_STR_AUTO claims = {0};
    int64_t now = cw_clock_wall_ms() / 1000;
    cw_str_add(&claims, "{\"iss\":");
    cw_str_add_json(&claims, email, strlen(email));
    cw_str_add(&claims, ",\"scope\":\"" SCOPE "\",\"aud\":");
    cw_str_add_json(&claims, uri, strlen(uri));
    cw_str_addf(&claims, ",\"iat\":%lld,\"exp\":%lld}", (long long)now, (long long)now + 3600);
    cw_sign_add_base64url(ret_claim, head, strlen(head));
    cw_str_add_char(ret_claim, '.');
    cw_sign_add_base64url(ret_claim, claims.s, claims.len);
    CW_STR_AUTO signature = {0};
    int rc = cw_sign_add_rs256(&signature, key, ret_claim->s, ret_claim->len, err);
    cw_str_addf(ret_claim, ".%s", cw_str_text(&signature));
    return rc;
}

/* Nothing that is signed goes over a network in plain text. */
static bool is_safe(const char *uri)
{
    return cw_str_starts(uri, "https://") || cw_str_starts(uri, "http://127.0.0.1:");
}

static int ask_for_account(const struct cw_value *account, const char *path,
                           const struct cw_stop *stop, struct cw_err *err)
{
    const char *email = text_of(account, "client_email"), *key = text_of(account, "private_key"),
               *uri = text_of(account, "token_uri");
    CW_STR_AUTO body = {0};
    CW_STR_AUTO claim = {0};
    if (!uri)
        uri = TOKEN_URI;
    if (!email || !key)
        return cw_err_set(err, CW_E_INVALID,
                          "%s: is no file of a service account: it has no client_email or no "
                          "private_key",
                          path);
    if (!is_safe(uri))
        return cw_err_set(err, CW_E_INVALID, "%s: its token_uri is no URL of https", path);
    int rc = write_claim(email, key, uri, &claim, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", path);
    cw_str_addf(
        &body, "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%s",
        claim.s);
    return ask(uri, body.s, stop, err);
}

static int ask_by_file(const char *path, const struct cw_stop *stop, struct cw_err *err)
{
    struct cw_str text = {0};
    struct cw_value account = {0};
    int rc = cw_small_file_read(path, &text, err);
    if (rc == 0 && cw_value_parse(cw_str_text(&text), text.len, path, &account, NULL) < 0)
        rc = cw_err_set(err, CW_E_INVALID, "%s: is not JSON", path);
    if (rc == 0)
        rc = ask_for_account(&account, path, stop, err);
    cw_value_fini(&account);
    cw_small_file_forget(text.s);
    return rc < 0 ? cw_err_wrap(err, "while a token for gs:// is got") : 0;
}

static int ask_host(const char *host, const struct cw_stop *stop, struct cw_err *err)
{
    cw_autofree char *url = cw_mem_printf("http://%s" METADATA_PATH, host);
    return ask(url, NULL, stop, err);
}

int cw_gs_token_ensure(const struct cw_stop *stop, struct cw_err *err)
{
    const char *path = variable("GOOGLE_APPLICATION_CREDENTIALS"),
               *host = variable("GCE_METADATA_HOST");
    int rc = 0;
    if ((!path && !host) || is_good())
        return 0;
    cw_mutex_lock(&token.getting);
    if (!is_good())
        rc = path ? ask_by_file(path, stop, err) : ask_host(host, stop, err);
    cw_mutex_unlock(&token.getting);
    return rc;
}
