/* SPDX-License-Identifier: Apache-2.0 */
/* A token is sent once, and the browser keeps a random cookie for it, which scripts cannot read and
 * other sites cannot send. Sessions are in memory only: a dispatcher that is started again asks for
 * the token again. Whether the token still counts is asked at each call (cw_access_gate). */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dispatcher/web/web_int.h"

#define COOKIE "cachew_session="
#define ATTRIBUTES "; Path=/; HttpOnly; SameSite=Strict"
#define SESSION_MS ((int64_t)12 * 3600 * 1000) /* It ends when it was not used for so long. */

enum { UNAUTHORIZED = 401, METHOD_NOT_ALLOWED = 405, UNAVAILABLE = 503 };

static struct cw_web_session *find(struct cw_web *web, const char *id, size_t n)
{
    struct cw_web_session *found = NULL;
    int64_t now = cw_clock_ms();
    for (size_t i = 0; i < CW_WEB_SESSIONS_MAX; i++) { /* The time does not tell which. */
        struct cw_web_session *s = &web->sessions[i];
        if (cw_secret_equal(id, n, s->id, sizeof(s->id) - 1) && s->used_ms > 0 &&
            now - s->used_ms < SESSION_MS)
            found = s;
    }
    if (found)
        found->used_ms = now;
    return found;
}

static struct cw_web_session *session_of(struct cw_web *web, const struct cw_page_request *request)
{
    const char *at = cw_page_header(request, "Cookie");
    while (at) {
        at += strspn(at, " ;");
        if (cw_str_starts(at, COOKIE)) {
            const char *id = at + strlen(COOKIE);
            return find(web, id, strcspn(id, " ;"));
        }
        at = strchr(at, ';');
    }
    return NULL;
}

const char *cw_web_session_token(struct cw_web *web, const struct cw_page_request *request)
{
    const struct cw_web_session *session = session_of(web, request);
    return session ? session->token : NULL;
}

/* Takes a free entry, or the one that was not used for longest. */
static struct cw_web_session *begin_session(struct cw_web *web, const char *token)
{
    unsigned char secret[CW_SECRET_BYTES];
    struct cw_web_session *s = web->sessions;
    for (size_t i = 1; i < CW_WEB_SESSIONS_MAX; i++)
        if (web->sessions[i].used_ms < s->used_ms)
            s = &web->sessions[i];
    *s = (struct cw_web_session){.used_ms = cw_clock_ms()};
    cw_secret_make(secret, sizeof(secret));
    cw_secret_text(secret, s->id);
    snprintf(s->token, sizeof(s->token), "%s", token);
    return s;
}

struct login {
    struct cw_web *web;
    struct cw_page_request *request;
};

static void on_info(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct login *login = arg;
    struct cw_str text = {0};
    (void)reply;
    if (code != 0) {
        cw_web_refuse(login->request, code == CW_E_DENIED ? UNAUTHORIZED : UNAVAILABLE, msg);
    } else {
        const struct cw_web_session *s = begin_session(login->web, cw_page_body(login->request));
        cw_autofree char *cookie = cw_mem_printf(COOKIE "%s" ATTRIBUTES, s->id);
        cw_page_add_header(login->request, "Set-Cookie", cookie);
        cw_str_add(&text, "{}\n");
        cw_web_answer_json(login->request, &text);
    }
    cw_mem_free(login);
}

/* The body is the token. Who shows one that reads nothing gets no session. */
void cw_web_login(void *arg, struct cw_page_request *request)
{
    struct cw_web *web = arg;
    struct cw_err err = {0};
    const Cachew__V1__InfoRequest info = CACHEW__V1__INFO_REQUEST__INIT;
    if (!cw_web_is_own(web, request))
        return;
    if (!cw_page_is_post(request)) {
        cw_web_refuse(request, METHOD_NOT_ALLOWED, "only POST");
        return;
    }
    if (cw_auth_token_check(cw_page_body(request), &err) != 0) {
        cw_web_refuse(request, UNAUTHORIZED, err.msg);
        return;
    }
    struct login *login = CW_NEW(struct login);
    *login = (struct login){web, request};
    cw_web_ask(web, "/cachew.v1.Admin/Info", cw_page_body(request), &info.base, on_info, login);
}

void cw_web_logout(void *arg, struct cw_page_request *request)
{
    struct cw_web *web = arg;
    struct cw_str text = {0};
    if (!cw_web_is_own(web, request))
        return;
    if (!cw_page_is_post(request)) {
        cw_web_refuse(request, METHOD_NOT_ALLOWED, "only POST");
        return;
    }
    struct cw_web_session *session = session_of(web, request);
    if (session)
        *session = (struct cw_web_session){0};
    cw_page_add_header(request, "Set-Cookie", COOKIE ATTRIBUTES "; Max-Age=0");
    cw_str_add(&text, "{}\n");
    cw_web_answer_json(request, &text);
}
