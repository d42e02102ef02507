/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of server-sent events for one browser: once a second the view asks what `cachew top` asks,
 * with the browser's token, and what has changed is sent. The text is made by a thread, as that of
 * metrics. A browser that does not take what is sent is not asked for until it has. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dispatcher/web/web_int.h"
#include "loop/offload.h"

#define LOOK_MS 1000
#define WAITING_MAX ((size_t)1 << 20) /* bytes that the browser has not taken */
#define DECISIONS_FIRST 100

enum { BUSY = 503 };
enum { INFO, JOBS, WORKERS, DECISIONS, CACHES, ASKED_N };

struct asked {
    struct cw_web_view *view;
    struct cw_rpc_msg *reply;
};
struct cw_web_view {
    struct cw_web_view *next, **prev;
    struct cw_web *web;
    struct cw_http_stream *stream; /* NULL: the view is over */
    struct cw_timer *timer;
    char *token; /* NULL: none is needed */
    struct asked asked[ASKED_N];
    size_t waiting; /* answers of this look that have not come */
    bool asking;    /* Not all questions of this look are asked. */
    int code;       /* of a question that failed */
    char why[512];
    uint64_t last_decision;
    bool working; /* The thread has what is below. */
    struct cw_offload work;
    struct cw_web_rows rows;
    struct cw_str text;
};

static void free_if_over(struct cw_web_view *view)
{
    if (view->stream || view->waiting > 0 || view->asking || view->working)
        return;
    for (size_t i = 0; i < ASKED_N; i++)
        cw_rpc_msg_unref(view->asked[i].reply);
    cw_web_rows_fini(&view->rows);
    cw_str_fini(&view->text);
    cw_mem_free(view->token);
    cw_mem_free(view);
}

static void end_view(struct cw_web_view *view)
{
    *view->prev = view->next;
    if (view->next)
        view->next->prev = view->prev;
    view->web->views_n--;
    cw_timer_free(view->timer);
    cw_http_stream_close(cw_steal(&view->stream));
    free_if_over(view);
}

/* ---- what is sent ---- */

static void send_event(struct cw_web_view *view, const char *name, const struct cw_str *json)
{
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "event: %s\ndata: ", name);
    cw_str_add_bytes(&text, cw_str_text(json), json->len);
    cw_str_add(&text, "\n\n");
    cw_http_stream_send(view->stream, text.s, text.len);
}

static void send_trouble(struct cw_web_view *view)
{
    CW_STR_AUTO json = {0};
    cw_str_add_json(&json, view->why, strlen(view->why));
    send_event(view, view->code == CW_E_DENIED ? "denied" : "trouble", &json);
}

/* ---- on the thread ---- */

static ProtobufCMessage *unpack(const ProtobufCMessageDescriptor *type, struct asked *asked)
{
    ProtobufCMessage *message = cw_wire_unpack(type, asked->reply, NULL);
    cw_rpc_msg_unref(cw_steal(&asked->reply));
    return message;
}

static void free_message(void *message)
{
    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

static void print(void *arg)
{
    struct cw_web_view *view = arg;
    struct cw_web_look look = {
        (void *)unpack(&cachew__v1__info_reply__descriptor, &view->asked[INFO]),
        (void *)unpack(&cachew__v1__list_jobs_reply__descriptor, &view->asked[JOBS]),
        (void *)unpack(&cachew__v1__list_workers_reply__descriptor, &view->asked[WORKERS]),
        (void *)unpack(&cachew__v1__list_decisions_reply__descriptor, &view->asked[DECISIONS]),
        (void *)unpack(&cachew__v1__cache_describe_reply__descriptor, &view->asked[CACHES])};
    cw_str_clear(&view->text);
    if (look.info && look.jobs && look.workers && look.decisions && look.caches) {
        cw_web_rows_print(&view->rows, &look, &view->text);
        size_t n = look.decisions->n_decisions;
        if (n > 0)
            view->last_decision = look.decisions->decisions[n - 1]->id;
    }
    free_message(look.info);
    free_message(look.jobs);
    free_message(look.workers);
    free_message(look.decisions);
    free_message(look.caches);
}

/* ---- on the loop thread ---- */

static void on_printed(void *arg)
{
    struct cw_web_view *view = arg;
    view->working = false;
    if (view->stream) {
        if (view->text.len > 0)
            send_event(view, "top", &view->text);
        cw_timer_start(view->timer, LOOK_MS, 0);
    }
    free_if_over(view);
}

static void end_look(struct cw_web_view *view)
{
    if (!view->stream) {
        free_if_over(view);
        return;
    }
    if (view->code != 0 || !view->web->d->offload) {
        send_trouble(view);
        cw_timer_start(view->timer, LOOK_MS, 0);
        return;
    }
    view->working = true;
    view->work = (struct cw_offload){.run = print, .done = on_printed, .arg = view};
    cw_offload_add(view->web->d->offload, &view->work);
}

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct asked *asked = arg;
    struct cw_web_view *view = asked->view;
    cw_rpc_msg_unref(cw_steal(&asked->reply));
    if (reply)
        asked->reply = cw_rpc_msg_ref(reply);
    if (code != 0) {
        view->code = code;
        snprintf(view->why, sizeof(view->why), "%s", msg);
    }
    if (--view->waiting == 0 && !view->asking)
        end_look(view);
}

static void ask(struct cw_web_view *view, int which, const char *method,
                const ProtobufCMessage *message)
{
    view->waiting++;
    view->asked[which].view = view;
    cw_web_ask(view->web, method, view->token, message, on_reply, &view->asked[which]);
}

static void look(struct cw_web_view *view)
{
    const Cachew__V1__InfoRequest info = CACHEW__V1__INFO_REQUEST__INIT;
    const Cachew__V1__ListJobsRequest jobs = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    const Cachew__V1__ListWorkersRequest workers = CACHEW__V1__LIST_WORKERS_REQUEST__INIT;
    const Cachew__V1__CacheDescribeRequest caches = CACHEW__V1__CACHE_DESCRIBE_REQUEST__INIT;
    Cachew__V1__ListDecisionsRequest decisions = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    decisions.after_id = view->last_decision;
    decisions.limit = DECISIONS_FIRST;
    decisions.brief = true;
    view->code = 0;
    view->asking = true;
    ask(view, INFO, "/cachew.v1.Admin/Info", &info.base);
    ask(view, JOBS, "/cachew.v1.Admin/ListJobs", &jobs.base);
    ask(view, WORKERS, "/cachew.v1.Admin/ListWorkers", &workers.base);
    ask(view, DECISIONS, "/cachew.v1.Admin/ListDecisions", &decisions.base);
    ask(view, CACHES, "/cachew.v1.Admin/CacheDescribe", &caches.base);
    view->asking = false;
    if (view->waiting == 0)
        end_look(view);
}

static void on_timer(void *arg)
{
    struct cw_web_view *view = arg;
    if (cw_http_stream_waiting(view->stream) > WAITING_MAX)
        cw_timer_start(view->timer, LOOK_MS, 0);
    else
        look(view);
}

static void on_closed(void *arg)
{
    end_view(arg);
}

void cw_web_events(void *arg, struct cw_page_request *request)
{
    struct cw_web *web = arg;
    const char *token;
    if (!cw_web_may_read(web, request, &token))
        return;
    if (web->views_n >= CW_WEB_VIEWS_MAX) {
        cw_web_refuse(request, BUSY, "too many browsers look at this dispatcher");
        return;
    }
    struct cw_web_view *view = CW_NEW(struct cw_web_view);
    view->web = web;
    view->token = cw_mem_strdup(token);
    view->next = web->views;
    view->prev = &web->views;
    if (view->next)
        view->next->prev = &view->next;
    web->views = view;
    web->views_n++;
    cw_web_add_headers(request);
    view->timer = cw_timer_new(web->d->loop, on_timer, view);
    view->stream = cw_http_stream_begin(request, on_closed, view);
    look(view);
}

void cw_web_views_close(struct cw_web *web)
{
    while (web->views)
        end_view(web->views);
}
