/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of web/ share. */
#ifndef CW_DISPATCHER_WEB_WEB_INT_H
#define CW_DISPATCHER_WEB_WEB_INT_H

#include "auth/secret.h"
#include "auth/token_file.h"
#include "base/map.h"
#include "cachew/v1/admin.pb-c.h"
#include "dispatcher/web/web.h"

#define CW_WEB_SESSIONS_MAX 64
#define CW_WEB_VIEWS_MAX 32

struct cw_web_session { /* Somebody who has shown a token. */
    char id[CW_SECRET_TEXT_BYTES];
    char token[CW_AUTH_TOKEN_MAX + 1];
    int64_t used_ms; /* 0: the entry is free */
};
struct cw_web {
    struct cw_dispatcher *d;
    struct cw_web_session sessions[CW_WEB_SESSIONS_MAX];
    struct cw_web_view *views;
    size_t views_n;
};

/* ---- web_guard.c ---- */
/* Whether the request may go on; otherwise it is answered. It must come from the page itself: Host is
 * ours, and so is Origin, if there is one. */
bool cw_web_is_own(struct cw_web *web, struct cw_page_request *request);
/* The same for one that reads what the dispatcher knows. *ret_token: the token that it shows; NULL:
 * none is needed. It is borrowed from the session or the request. */
bool cw_web_may_read(struct cw_web *web, struct cw_page_request *request, const char **ret_token);
/* Whether the Host that a browser sends names this dispatcher: an address, "localhost", the name of
 * this host, or one of --web-host. Other names may be an attacker's (DNS rebinding). */
bool cw_web_host_is_own(const struct cw_dispatcher *d, const char *host);
/* Answers with a status and {"error": ...}. */
void cw_web_refuse(struct cw_page_request *request, unsigned status, const char *why);
/* Answers with JSON, which is taken. */
void cw_web_answer_json(struct cw_page_request *request, struct cw_str *json);
/* Adds the headers that all answers have. */
void cw_web_add_headers(struct cw_page_request *request);

/* ---- web_session.c ---- */
#define CW_WEB_COOKIE "cachew_session="
/* The session whose cookie the request shows; NULL: there is none. */
struct cw_web_session *cw_web_session_of(struct cw_web *web, const struct cw_page_request *request);
/* Begins one, in place of the one that was not used for longest if there are too many. */
struct cw_web_session *cw_web_session_begin(struct cw_web *web, const char *token);

/* ---- web_login.c ---- */
void cw_web_login(void *arg, struct cw_page_request *request);
void cw_web_logout(void *arg, struct cw_page_request *request);

/* ---- web_admin_answer.c ---- */
/* Calls a method of Admin with the token. If the dispatcher does not serve, fn gets UNAVAILABLE. */
void cw_web_ask(struct cw_web *web, const char *method, const char *token,
                const ProtobufCMessage *message, cw_unary_fn *fn, void *arg);
/* Ends a request with the answer of a method of Admin, printed. */
typedef void cw_web_print_fn(const ProtobufCMessage *reply, struct cw_str *out);
void cw_web_page(struct cw_web *web, struct cw_page_request *request, const char *token,
                 const char *method, const ProtobufCMessage *message,
                 const ProtobufCMessageDescriptor *type, cw_web_print_fn *print);
/* An argument of the query, as the strings of messages are: not const. "": there is none. */
char *cw_web_argument(const struct cw_page_request *request, const char *name);
/* Pages. */
void cw_web_explain(void *arg, struct cw_page_request *request);
void cw_web_graph(void *arg, struct cw_page_request *request);
void cw_web_decision(void *arg, struct cw_page_request *request);
void cw_web_catalogue(void *arg, struct cw_page_request *request);
void cw_web_elements(void *arg, struct cw_page_request *request);

/* ---- web_act.c ---- */
void cw_web_who(void *arg, struct cw_page_request *request);
void cw_web_act(void *arg, struct cw_page_request *request);

/* ---- web_events.c ---- */
void cw_web_events(void *arg, struct cw_page_request *request);
void cw_web_views_close(struct cw_web *web);

/* ---- web_rows.c ---- */
/* What a view was shown, by "j" or "w" or "c" and the id of the row. */
struct cw_web_rows {
    struct cw_strmap shown;
    uint32_t look;
};
void cw_web_rows_fini(struct cw_web_rows *rows);
/* The replies of one look; NULL: there is none. */
struct cw_web_look {
    Cachew__V1__InfoReply *info;
    Cachew__V1__ListJobsReply *jobs;
    Cachew__V1__ListWorkersReply *workers;
    Cachew__V1__ListDecisionsReply *decisions;
    Cachew__V1__CacheDescribeReply *caches;
};
/* Prints what has changed since the last look as one JSON object; all of info to caches are there.
 * Any thread. */
void cw_web_rows_print(struct cw_web_rows *rows, const struct cw_web_look *look,
                       struct cw_str *out);

/* ---- the files of the page, made of dist/ by make_files.cmake ---- */
struct cw_web_file {
    const char *path, *type;
    const unsigned char *bytes;
    size_t n;
};
extern const struct cw_web_file cw_web_files[]; /* The last has no path. */

#endif
