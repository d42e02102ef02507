/* SPDX-License-Identifier: Apache-2.0 */
/* One answer of Admin as a page. */
#include <string.h>

#include "base/mem.h"
#include "dispatcher/web/web_int.h"
#include "wire/reply_json.h"

enum { BAD_REQUEST = 400, UNAUTHORIZED = 401, NOT_FOUND = 404, SERVER_ERROR = 500, AWAY = 503 };

struct asked {
    struct cw_page_request *request;
    const ProtobufCMessageDescriptor *type;
    cw_web_print_fn *print;
};

static unsigned status_of(int code)
{
    switch (code) {
    case CW_E_DENIED:
        return UNAUTHORIZED;
    case CW_E_NOT_FOUND:
        return NOT_FOUND;
    case CW_E_INVALID:
        return BAD_REQUEST;
    case CW_E_UNAVAILABLE:
        return AWAY;
    default:
        return SERVER_ERROR;
    }
}

static void on_reply(void *arg, struct cw_rpc_msg *reply, int code, const char *msg)
{
    struct asked *asked = arg;
    struct cw_err err = {0};
    struct cw_str text = {0};
    ProtobufCMessage *message = reply ? cw_wire_unpack(asked->type, reply, &err) : NULL;
    if (message) {
        asked->print(message, &text);
        cw_str_add_char(&text, '\n');
        cw_web_answer_json(asked->request, &text);
        protobuf_c_message_free_unpacked(message, NULL);
    } else {
        cw_web_refuse(asked->request, status_of(reply ? err.code : code), reply ? err.msg : msg);
    }
    cw_mem_free(asked);
}

void cw_web_ask(struct cw_web *web, const char *method, const char *token,
                const ProtobufCMessage *message, cw_unary_fn *fn, void *arg)
{
    const struct cw_gate_question question = {
        .method = method, .token = token, .peer = "the page for browsers"};
    if (!web->d->server) {
        fn(arg, NULL, CW_E_UNAVAILABLE, "this dispatcher stands by, or ends");
        return;
    }
    struct cw_buf *packed = cw_wire_pack(message);
    cw_server_ask(web->d->server, &question, packed, fn, arg);
    cw_buf_unref(packed);
}

void cw_web_page(struct cw_web *web, struct cw_page_request *request, const char *token,
                 const char *method, const ProtobufCMessage *message,
                 const ProtobufCMessageDescriptor *type, cw_web_print_fn *print)
{
    struct asked *asked = CW_NEW(struct asked);
    *asked = (struct asked){request, type, print};
    cw_web_ask(web, method, token, message, on_reply, asked);
}

char *cw_web_argument(const struct cw_page_request *request, const char *name)
{
    static char none[] = "";
    const char *value = cw_page_argument(request, name);
    return value ? (char *)(uintptr_t)value : none;
}

/* ---- the pages ---- */

static void print_explain(const ProtobufCMessage *reply, struct cw_str *out)
{
    cw_wire_explain_json((const Cachew__V1__ExplainReply *)(const void *)reply, out);
}

void cw_web_explain(void *arg, struct cw_page_request *request)
{
    const char *token;
    Cachew__V1__ExplainRequest message = CACHEW__V1__EXPLAIN_REQUEST__INIT;
    if (!cw_web_may_read(arg, request, &token))
        return;
    message.job = cw_web_argument(request, "job");
    cw_web_page(arg, request, token, "/cachew.v1.Admin/Explain", &message.base,
                &cachew__v1__explain_reply__descriptor, print_explain);
}

static void print_graph(const ProtobufCMessage *message, struct cw_str *out)
{
    const Cachew__V1__GetJobReply *reply = (const Cachew__V1__GetJobReply *)(const void *)message;
    struct cw_graph *graph = NULL;
    Cachew__V1__Graph *packed =
        cachew__v1__graph__unpack(NULL, reply->graph.len, reply->graph.data);
    if (packed && cw_wire_graph_from(packed, &graph, NULL) == 0)
        cw_graph_print(graph, out);
    else
        cw_str_add(out, "null");
    cw_graph_unref(graph);
    if (packed)
        cachew__v1__graph__free_unpacked(packed, NULL);
}

void cw_web_graph(void *arg, struct cw_page_request *request)
{
    const char *token;
    Cachew__V1__GetJobRequest message = CACHEW__V1__GET_JOB_REQUEST__INIT;
    if (!cw_web_may_read(arg, request, &token))
        return;
    message.job = cw_web_argument(request, "job");
    cw_web_page(arg, request, token, "/cachew.v1.Admin/GetJob", &message.base,
                &cachew__v1__get_job_reply__descriptor, print_graph);
}

static void print_decision(const ProtobufCMessage *message, struct cw_str *out)
{
    const Cachew__V1__ListDecisionsReply *reply =
        (const Cachew__V1__ListDecisionsReply *)(const void *)message;
    if (reply->n_decisions > 0)
        cw_wire_decision_json(reply->decisions[0], out);
    else
        cw_str_add(out, "null");
}

#define DECISIONS_MOST 1000

/* The decision with this id, with its inputs; if it is gone, another. (After id 0 the newest ones are
 * listed, so the very first is the oldest of these.) */
void cw_web_decision(void *arg, struct cw_page_request *request)
{
    const char *token;
    uint64_t id;
    Cachew__V1__ListDecisionsRequest message = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    if (!cw_web_may_read(arg, request, &token))
        return;
    if (!cw_str_to_u64(cw_web_argument(request, "id"), &id) || id == 0) {
        cw_web_refuse(request, BAD_REQUEST, "which decision? id=N");
        return;
    }
    message.after_id = id - 1;
    message.limit = id == 1 ? DECISIONS_MOST : 1;
    cw_web_page(arg, request, token, "/cachew.v1.Admin/ListDecisions", &message.base,
                &cachew__v1__list_decisions_reply__descriptor, print_decision);
}

static void print_catalogue(const ProtobufCMessage *reply, struct cw_str *out)
{
    cw_wire_cache_list_json((const Cachew__V1__CacheListReply *)(const void *)reply, false, out);
}

void cw_web_catalogue(void *arg, struct cw_page_request *request)
{
    const char *token;
    Cachew__V1__CacheListRequest message = CACHEW__V1__CACHE_LIST_REQUEST__INIT;
    if (!cw_web_may_read(arg, request, &token))
        return;
    message.cache = cw_web_argument(request, "cache");
    cw_web_page(arg, request, token, "/cachew.v1.Admin/CacheList", &message.base,
                &cachew__v1__cache_list_reply__descriptor, print_catalogue);
}

static void print_elements(const ProtobufCMessage *reply, struct cw_str *out)
{
    cw_wire_elements_json((const Cachew__V1__ShowElementsReply *)(const void *)reply, out);
}

void cw_web_elements(void *arg, struct cw_page_request *request)
{
    const char *token;
    Cachew__V1__ShowElementsRequest message = CACHEW__V1__SHOW_ELEMENTS_REQUEST__INIT;
    if (!cw_web_may_read(arg, request, &token))
        return;
    message.job = cw_web_argument(request, "job");
    cw_web_page(arg, request, token, "/cachew.v1.Admin/ShowElements", &message.base,
                &cachew__v1__show_elements_reply__descriptor, print_elements);
}
