/* SPDX-License-Identifier: Apache-2.0 */
/* http/http_client.h on virtual time: what it asks and hears goes through api_door.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api_door.h"
#include "base/mem.h"
#include "fake_http.h"
#include "http/http_client.h"
#include "sim.h"

struct cw_http_client {
    struct cw_loop *loop;
    struct cw_http_call *calls;
};

/* What was put on the wire last, whenever it is answered. */
static char last_begun[16];

const char *fake_http_last_begun(void)
{
    return last_begun;
}

struct cw_http_call {
    struct cw_http_client *client;
    struct cw_http_call *prev, *next;
    char *method, *url, *body, *type, *token;
    size_t body_n;
    int64_t silence_ms;
    struct cw_http_events events;
    struct cw_http_response response;
    struct cw_str head, coming; /* coming: what is on its way */
    struct fk_watch *watch;
    struct cw_timer *step, *limit, *silence;
    bool asked, in_bytes, cancelled, ends; /* ends: behind what is coming */
    int end_code;
};

/* ---- the end of a call ---- */

static void free_call(struct cw_http_call *call)
{
    if (call->prev)
        call->prev->next = call->next;
    else
        call->client->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    api_door_watch_free(call->watch);
    cw_timer_free(call->step);
    cw_timer_free(call->limit);
    cw_timer_free(call->silence);
    cw_str_fini(&call->head);
    cw_str_fini(&call->coming);
    cw_str_fini(&call->response.body);
    cw_mem_free(call->method);
    cw_mem_free(call->url);
    cw_mem_free(call->body);
    cw_mem_free(call->type);
    cw_mem_free(call->token);
    cw_mem_free(call);
}

static void end_call(struct cw_http_call *call, int code, const struct cw_err *cause)
{
    struct cw_err err = {0};

    if (code != CW_OK)
        cw_err_set(&err, code, "%s %s: %s", call->method, call->url,
                   cause && cause->code ? cause->msg : cw_err_text(code));
    call->events.on_end(call->events.arg, code, &call->response, &err);
    free_call(call);
}

static void on_limit(void *arg)
{
    end_call(arg, CW_E_TIMEOUT, NULL);
}

void cw_http_call_cancel(struct cw_http_call *call)
{
    if (!call)
        return;
    call->cancelled = true;
    if (!call->in_bytes)
        free_call(call);
}

/* ---- what comes ---- */

static void go_on_later(struct cw_http_call *call)
{
    if (!cw_timer_is_active(call->step))
        cw_timer_start(call->step, sim_between(0, api_door_late_ms()), 0);
}

static void on_fk_bytes(void *arg, const char *bytes, size_t n, enum fk_watch_end end)
{
    struct cw_http_call *call = arg;

    cw_str_add_bytes(&call->coming, bytes, n);
    if (end != FK_WATCH_GOES_ON) {
        call->ends = true;
        call->end_code = end == FK_WATCH_RESET ? CW_E_UNAVAILABLE : CW_OK;
    }
    go_on_later(call);
}

/* Hands over the first bytes. Returns false if the call has ended by it. */
static bool hand_over(struct cw_http_call *call, size_t n)
{
    struct cw_err err = {0};
    cw_autofree char *bytes = cw_mem_dup(call->coming.s, n);

    memmove(call->coming.s, call->coming.s + n, call->coming.len - n + 1);
    call->coming.len -= n;
    if (call->silence)
        cw_timer_start(call->silence, call->silence_ms, 0);
    if (!call->events.on_bytes) {
        cw_str_add_bytes(&call->response.body, bytes, n);
        return true;
    }
    call->in_bytes = true;
    int rc = call->events.on_bytes(call->events.arg, &call->response, bytes, n, &err);
    call->in_bytes = false;
    if (call->cancelled)
        free_call(call);
    else if (rc != CW_OK)
        end_call(call, rc, &err);
    else
        return true;
    return false;
}

static void take_answer(struct cw_http_call *call, struct fk_answer *answer)
{
    call->response.status = answer->status;
    cw_str_addf(&call->head, "HTTP/1.1 %d Word\r\nAudit-Id: %s\r\n", answer->status,
                answer->audit_id);
    if (answer->retry_after_s)
        cw_str_addf(&call->head, "Retry-After: %d\r\n", answer->retry_after_s);
    if (answer->warning)
        cw_str_addf(&call->head, "Warning: 299 - \"%s\"\r\n", answer->warning);
    if (answer->body)
        cw_str_add_bytes(&call->coming, answer->body, answer->body_n);
    call->watch = answer->watch;
    answer->watch = NULL;
    if (call->watch)
        api_door_watch(call->watch, on_fk_bytes, call);
    else
        call->ends = true;
}

/* The request reaches the server. Returns false if the call has ended by it. */
static bool ask(struct cw_http_call *call)
{
    char *query = strchr(call->url, '?'), *path = strchr(strstr(call->url, "//") + 2, '/');
    struct fk_answer answer = {0};

    call->asked = true;
    if (query)
        *query = '\0';
    const struct fk_request request = {
        .method = call->method,
        .path = path,
        .query = query ? query + 1 : NULL,
        .content_type = call->type,
        .accept = "application/json",
        .token = call->token,
        .user_agent = "cachew-test/1",
        .body = call->body,
        .body_n = call->body_n,
    };
    api_door_ask(&request, &answer);
    enum fk_harm harm = answer.harm;
    if (harm == FK_HARM_NONE)
        take_answer(call, &answer);
    api_door_watch_free(answer.watch); /* of an answer that does not come */
    api_door_answer_fini(&answer);
    if (harm == FK_HARM_RESET || harm == FK_HARM_DONE)
        end_call(call, CW_E_UNAVAILABLE, NULL);
    return harm == FK_HARM_NONE;
}

static void on_step(void *arg)
{
    struct cw_http_call *call = arg;
    size_t n = call->coming.len;

    if (api_door_is_shut()) {
        end_call(call, CW_E_UNAVAILABLE, NULL);
        return;
    }
    if (!call->asked) {
        if (ask(call))
            go_on_later(call);
        return;
    }
    if (n > 1 && sim_one_in(3)) /* a line may be parted anywhere */
        n = (size_t)sim_between(1, (int64_t)n - 1);
    if (n > 0 && !hand_over(call, n))
        return;
    if (call->coming.len > 0)
        go_on_later(call);
    else if (call->ends)
        end_call(call, call->end_code, NULL);
}

/* ---- http_client.h ---- */

int cw_http_client_new(struct cw_loop *loop, const char *user_agent,
                       const struct cw_http_identity *identity, struct cw_http_client **ret_client,
                       struct cw_err *err)
{
    (void)user_agent;
    (void)identity;
    (void)err;
    *ret_client = CW_NEW(struct cw_http_client);
    (*ret_client)->loop = loop;
    return CW_OK;
}

void cw_http_client_free(struct cw_http_client *client)
{
    while (client && client->calls)
        free_call(client->calls);
    cw_mem_free(client);
}

static void take_headers(struct cw_http_call *call, const char *const *headers)
{
    for (; headers && *headers; headers++) {
        if (cw_str_starts(*headers, "Content-Type: "))
            call->type = cw_mem_strdup(*headers + 14);
        if (cw_str_starts(*headers, "Authorization: Bearer "))
            call->token = cw_mem_strdup(*headers + 22);
    }
}

static struct cw_timer *timer_for(struct cw_http_call *call, int64_t ms)
{
    if (ms == 0)
        return NULL;
    struct cw_timer *timer = cw_timer_new(call->client->loop, on_limit, call);
    cw_timer_start(timer, ms, 0);
    return timer;
}

struct cw_http_call *cw_http_call_new(struct cw_http_client *client,
                                      const struct cw_http_request *request,
                                      const struct cw_http_events *events)
{
    struct cw_http_call *call = CW_NEW(struct cw_http_call);

    call->client = client;
    call->next = client->calls;
    if (call->next)
        call->next->prev = call;
    client->calls = call;
    call->method = cw_mem_strdup(request->method);
    snprintf(last_begun, sizeof(last_begun), "%s", request->method);
    call->url = cw_mem_strdup(request->url);
    call->body = request->body ? cw_mem_strndup(request->body, request->body_n) : NULL;
    call->body_n = request->body_n;
    call->events = *events;
    call->response.head = &call->head;
    take_headers(call, request->headers);
    call->silence_ms = request->silence_ms;
    call->limit = timer_for(call, request->timeout_ms);
    call->silence = timer_for(call, request->silence_ms);
    call->step = cw_timer_new(client->loop, on_step, call);
    go_on_later(call);
    return call;
}

bool cw_http_header(const struct cw_http_response *response, const char *name, size_t nth,
                    char *ret_value, size_t cap)
{
    cw_autofree char *wanted = cw_mem_printf("\r\n%s: ", name);
    const char *at = strcasestr(cw_str_text(response->head), wanted);

    if (!at || nth > 0)
        return false;
    at += strlen(wanted);
    snprintf(ret_value, cap, "%.*s", (int)strcspn(at, "\r"), at);
    return true;
}
