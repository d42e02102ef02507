/* SPDX-License-Identifier: Apache-2.0 */
/* A token is sent once, and the browser keeps a random cookie for it, which scripts cannot read and
 * other sites cannot send. Sessions are in memory only: a dispatcher that is started again asks for
 * the token again. Whether the token still counts is asked at each call (cw_access_gate). */

#include "base/mem.h"
#include "dispatcher/web/web_int.h"

#define ATTRIBUTES "; Path=/; HttpOnly; SameSite=Strict"
#define SECURE "; Secure" /* Browsers do not show it without TLS. */

enum { UNAUTHORIZED = 401, METHOD_NOT_ALLOWED = 405, UNAVAILABLE = 503 };

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
        const struct cw_web_session *s =
            cw_web_session_begin(login->web, cw_page_body(login->request));
        cw_autofree char *cookie = cw_mem_printf(CW_WEB_COOKIE "%s" ATTRIBUTES "%s", s->id,
                                                 login->web->d->options.metrics_tls ? SECURE : "");
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
    struct cw_web_session *session = cw_web_session_of(web, request);
    if (session)
        *session = (struct cw_web_session){0};
    cw_page_add_header(request, "Set-Cookie", CW_WEB_COOKIE ATTRIBUTES "; Max-Age=0");
    cw_str_add(&text, "{}\n");
    cw_web_answer_json(request, &text);
}
