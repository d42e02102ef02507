/* SPDX-License-Identifier: Apache-2.0 */
/* One request to an API server, from its URL to the answer. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/cut_lists.h"
#include "kube/kube_file.h"
#include "kube/kube_int.h"
#include "kube/watch_lines.h"

#define BODY_MAX ((size_t)64 << 20)         /* of an answer, such as a page of a list */
#define FAILED_BODY_MAX ((size_t)256 << 10) /* of what a stream answers that is none */

struct cw_kube_call {
    struct cw_kube *kube;
    struct cw_kube_call *prev, *next;
    struct cw_http_call *http;
    enum cw_kube_verb verb;
    char *url, *body, *what; /* what: "patch deployments.apps ns/name", for messages */
    struct cw_err bad;       /* there is no such target */
    struct cw_timer *later;  /* tells `bad` */
    cw_kube_fn *fn;
    cw_kube_stream_fn *line;
    void *arg;
    const char *const *without;
    int64_t silence_ms;
    struct cw_kube_lines lines;
    struct cw_str failed; /* of a stream that is none */
    bool renewed;         /* asked a second time, with another token */
    bool in_line;         /* `line` is being called */
    bool cancelled;       /* to be freed when `line` has returned */
};

static const struct {
    const char *name, *method, *type;
} verbs[CW_KUBE_VERBS] = {
    [CW_KUBE_GET] = {"get", "GET", NULL},
    [CW_KUBE_LIST] = {"list", "GET", NULL},
    [CW_KUBE_WATCH] = {"watch", "GET", NULL},
    [CW_KUBE_CREATE] = {"create", "POST", "application/json"},
    [CW_KUBE_UPDATE] = {"update", "PUT", "application/json"},
    [CW_KUBE_PATCH] = {"patch", "PATCH", "application/merge-patch+json"},
    [CW_KUBE_DELETE] = {"delete", "DELETE", "application/json"},
};

const char *cw_kube_verb_name(enum cw_kube_verb verb)
{
    return verbs[verb].name;
}

static void free_call(struct cw_kube_call *call)
{
    if (call->prev)
        call->prev->next = call->next;
    else
        call->kube->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    cw_timer_free(call->later);
    cw_kube_lines_fini(&call->lines);
    cw_str_fini(&call->failed);
    cw_mem_free(call->url);
    cw_kube_forget(call->body); /* it may hold a token that is asked about */
    cw_mem_free(call->what);
    cw_mem_free(call);
}

static void tell(struct cw_kube_call *call, struct cw_kube_answer *answer)
{
    if (call->kube->options.answered)
        call->kube->options.answered(call->kube->options.arg, call->verb, answer->status.http);
    call->http = NULL; /* it is over, and its owner frees it */
    call->fn(call->arg, answer);
    free_call(call);
}

/* Tells a failure that the server has described. */
static void tell_failure(struct cw_kube_call *call, const struct cw_http_response *response,
                         const char *body, size_t n)
{
    struct cw_kube_answer answer = {0};
    struct cw_err err = {0};
    char retry_after[64] = "", audit_id[80] = "";

    (void)cw_http_header(response, "Retry-After", 0, retry_after, sizeof(retry_after));
    (void)cw_http_header(response, "Audit-Id", 0, audit_id, sizeof(audit_id));
    cw_kube_status_read(body, n, response->status, retry_after, &answer.status);
    answer.code =
        cw_err_set(&err, cw_kube_reason_code(answer.status.reason), "%s: %s (HTTP %d)%s%s%s%s%s%s",
                   call->what, cw_kube_reason_name(answer.status.reason), response->status,
                   answer.status.message[0] ? ": " : "", answer.status.message,
                   response->status / 100 == 3 ? ": redirects are not followed" : "",
                   audit_id[0] ? " [Audit-Id " : "", audit_id, audit_id[0] ? "]" : "");
    answer.err = &err;
    tell(call, &answer);
}

/* Parses an answer, but for what nobody reads. */
static int parse(const struct cw_kube_call *call, const struct cw_str *body,
                 struct cw_value *ret_object, struct cw_err *err)
{
    CW_STR_AUTO rest = {0};

    if (call->without && cw_kube_cut_lists(cw_str_text(body), body->len, call->without, &rest))
        body = &rest;
    return cw_value_parse(cw_str_text(body), body->len, NULL, ret_object, err);
}

static void tell_object(struct cw_kube_call *call, const struct cw_http_response *response)
{
    struct cw_kube_answer answer = {.status.http = response->status};
    struct cw_value object = {0};
    struct cw_err err = {0};

    answer.code = parse(call, &response->body, &object, &err);
    if (answer.code == CW_OK && object.type != CW_VALUE_OBJECT)
        answer.code = cw_err_set(&err, CW_E_CORRUPT, "%s where an object is expected",
                                 cw_value_type_name(object.type));
    if (answer.code != CW_OK) {
        err.code = answer.code = CW_E_CORRUPT;
        cw_err_wrap(&err, "%s: the answer is no object of Kubernetes", call->what);
    }
    answer.object = answer.code == CW_OK ? &object : NULL;
    answer.err = &err;
    tell(call, &answer);
    cw_value_fini(&object);
}

static void tell_code(struct cw_kube_call *call, int code, int http, const struct cw_err *cause)
{
    struct cw_kube_answer answer = {.code = code, .status.http = http};
    struct cw_err err = *cause;

    if (code != CW_OK)
        cw_err_wrap(&err, "%s", call->what);
    answer.err = &err;
    tell(call, &answer);
}

static void send_request(struct cw_kube_call *call);

static void on_end(void *arg, int code, const struct cw_http_response *response,
                   const struct cw_err *err)
{
    struct cw_kube_call *call = arg;
    const struct cw_str *body = call->line ? &call->failed : &response->body;

    cw_kube_tell_warnings(call->kube, response);
    if (code == CW_OK && response->status == 401 && !call->renewed &&
        cw_kube_token_renew(&call->kube->token, cw_clock_ms())) {
        call->renewed = true;
        cw_str_clear(&call->failed);
        send_request(call);
    } else if (code != CW_OK) {
        tell_code(call, code, response->status, err);
    } else if (response->status < 200 || response->status > 299) {
        tell_failure(call, response, cw_str_text(body), body->len);
    } else if (call->line) {
        tell_code(call, CW_OK, response->status, err);
    } else {
        tell_object(call, response);
    }
}

static int on_line(void *arg, const char *line, size_t n, struct cw_err *err)
{
    struct cw_kube_call *call = arg;
    int rc = call->line(call->arg, line, n, err);

    return call->cancelled ? CW_E_CANCELLED : rc;
}

static int add_lines(struct cw_kube_call *call, const char *bytes, size_t n, struct cw_err *err)
{
    call->in_line = true;
    int rc = cw_kube_lines_add(&call->lines, bytes, n, on_line, call, err);
    call->in_line = false;
    if (call->cancelled)
        free_call(call);
    return rc;
}

static int on_bytes(void *arg, const struct cw_http_response *response, const char *bytes, size_t n,
                    struct cw_err *err)
{
    struct cw_kube_call *call = arg;

    if (response->status >= 200 && response->status <= 299)
        return add_lines(call, bytes, n, err);
    if (call->failed.len < FAILED_BODY_MAX)
        cw_str_add_bytes(&call->failed, bytes, CW_MIN(n, FAILED_BODY_MAX - call->failed.len));
    return CW_OK;
}

static void send_request(struct cw_kube_call *call)
{
    const char *token = cw_kube_token_get(&call->kube->token, cw_clock_ms());
    const char *type = call->body ? verbs[call->verb].type : NULL, *headers[4];
    CW_STR_AUTO authorization = {0};
    CW_STR_AUTO content = {0};
    size_t n = 0;

    headers[n++] = "Accept: application/json";
    if (type) {
        cw_str_addf(&content, "Content-Type: %s", type);
        headers[n++] = content.s;
    }
    if (token) {
        cw_str_addf(&authorization, "Authorization: Bearer %s", token);
        headers[n++] = authorization.s;
    }
    headers[n] = NULL;
    const struct cw_http_request request = {
        .method = verbs[call->verb].method,
        .url = call->url,
        .headers = headers,
        .body = call->body,
        .body_n = call->body ? strlen(call->body) : 0,
        .connect_ms = call->kube->options.timeout_ms,
        .timeout_ms = call->line ? 0 : call->kube->options.timeout_ms,
        .silence_ms = call->silence_ms,
        .body_max = BODY_MAX,
    };
    const struct cw_http_events events = {call->line ? on_bytes : NULL, on_end, call};
    call->http = cw_http_call_new(call->kube->http, &request, &events);
    if (authorization.s)
        explicit_bzero(authorization.s, authorization.len);
}

static void on_bad(void *arg)
{
    struct cw_kube_call *call = arg;

    tell_code(call, call->bad.code, 0, &call->bad);
}

static void make_url(struct cw_kube_call *call, const struct cw_kube_request *request)
{
    CW_STR_AUTO url = {0};
    bool writes =
        call->verb == CW_KUBE_CREATE || call->verb == CW_KUBE_UPDATE || call->verb == CW_KUBE_PATCH;

    cw_str_add(&url, call->kube->server);
    (void)cw_kube_path(&request->target, &url, &call->bad);
    if (writes)
        cw_kube_query(&url, "fieldManager", call->kube->manager);
    for (const char *const *at = request->query; at && at[0]; at += 2)
        cw_kube_query(&url, at[0], at[1]);
    call->url = cw_str_take(&url);
}

static struct cw_kube_call *new_call(struct cw_kube *kube, const struct cw_kube_request *request,
                                     cw_kube_fn *fn, void *arg)
{
    struct cw_kube_call *call = CW_NEW(struct cw_kube_call);
    CW_STR_AUTO what = {0};

    call->kube = kube;
    call->next = kube->calls;
    if (call->next)
        call->next->prev = call;
    kube->calls = call;
    call->verb = request->verb;
    call->body = cw_mem_strdup(request->body);
    call->fn = fn;
    call->arg = arg;
    call->without = request->without;
    call->lines.max = CW_KUBE_LINE_MAX;
    cw_str_addf(&what, "%s ", verbs[call->verb].name);
    cw_kube_describe(&request->target, &what);
    call->what = cw_str_take(&what);
    make_url(call, request);
    return call;
}

static void begin(struct cw_kube_call *call)
{
    if (call->bad.code == CW_OK) {
        send_request(call);
        return;
    }
    call->later = cw_timer_new(call->kube->loop, on_bad, call);
    cw_timer_start(call->later, 0, 0);
}

struct cw_kube_call *cw_kube_call_new(struct cw_kube *kube, const struct cw_kube_request *request,
                                      cw_kube_fn *fn, void *arg)
{
    struct cw_kube_call *call = new_call(kube, request, fn, arg);

    begin(call);
    return call;
}

struct cw_kube_call *cw_kube_stream_new(struct cw_kube *kube, const struct cw_kube_request *request,
                                        int64_t silence_ms, cw_kube_stream_fn *line, cw_kube_fn *fn,
                                        void *arg)
{
    struct cw_kube_call *call = new_call(kube, request, fn, arg);

    call->line = line;
    call->silence_ms = silence_ms;
    begin(call);
    return call;
}

void cw_kube_call_cancel(struct cw_kube_call *call)
{
    if (!call)
        return;
    cw_http_call_cancel(call->http);
    call->http = NULL;
    if (call->in_line)
        call->cancelled = true;
    else
        free_call(call);
}
