/* SPDX-License-Identifier: Apache-2.0 */
/* One request for a page: what was asked, and what is answered. */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "daemon/daemon_int.h"

static void add_pair(struct cw_http_pair **list, const char *name, const char *value)
{
    struct cw_http_pair *pair = CW_NEW(struct cw_http_pair);
    *pair = (struct cw_http_pair){*list, cw_mem_strdup(name), cw_mem_strdup(value ? value : "")};
    *list = pair;
}

static void pairs_free(struct cw_http_pair *pair)
{
    while (pair) {
        struct cw_http_pair *next = pair->next;
        cw_mem_free(pair->name);
        cw_mem_free(pair->value);
        cw_mem_free(pair);
        pair = next;
    }
}

/* The names of headers are not case-sensitive. Of several with one name the last counts. */
static const char *find_pair(const struct cw_http_pair *pair, const char *name)
{
    while (pair && strcasecmp(pair->name, name) != 0)
        pair = pair->next;
    return pair ? pair->value : NULL;
}

static enum MHD_Result on_value(void *arg, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    struct cw_page_request *request = arg;
    if (name)
        add_pair(kind == MHD_HEADER_KIND ? &request->headers : &request->arguments, name, value);
    return MHD_YES;
}

struct cw_page_request *cw_page_request_new(struct cw_http *http, struct MHD_Connection *connection,
                                            const struct cw_http_page *page)
{
    struct cw_page_request *request = CW_NEW(struct cw_page_request);
    *request = (struct cw_page_request){.http = http, .page = page, .type = page->type, .refs = 1};
    cw_http_ref(http);
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, on_value, request);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, on_value, request);
    return request;
}

void cw_page_request_unref(struct cw_page_request *request)
{
    if (__atomic_sub_fetch(&request->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    pairs_free(request->headers);
    pairs_free(request->arguments);
    pairs_free(request->added);
    cw_str_fini(&request->body);
    cw_str_fini(&request->text);
    cw_http_unref(request->http);
    cw_mem_free(request);
}

void cw_page_request_end(struct cw_page_request *request)
{
    struct cw_http *http = request->http;
    cw_mutex_lock(&http->mutex);
    request->done = true;
    bool left = request->left;
    cw_cond_broadcast(&http->cond);
    cw_mutex_unlock(&http->mutex);
    if (left && request->stream)
        cw_http_stream_gone(request->stream);
    cw_page_request_unref(request);
}

enum MHD_Result cw_page_request_send(struct cw_page_request *request,
                                     struct MHD_Connection *connection)
{
    const char *text = cw_str_text(&request->text);
    struct MHD_Response *response =
        request->stream ? cw_http_stream_response(request->stream, connection)
                        : MHD_create_response_from_buffer(
                              request->text.len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    unsigned usual = request->ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, request->type);
    for (const struct cw_http_pair *pair = request->added; pair; pair = pair->next)
        (void)MHD_add_response_header(response, pair->name, pair->value);
    enum MHD_Result result =
        MHD_queue_response(connection, request->status ? request->status : usual, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- for whoever makes the page ---- */

const char *cw_page_header(const struct cw_page_request *request, const char *name)
{
    return find_pair(request->headers, name);
}

const char *cw_page_argument(const struct cw_page_request *request, const char *name)
{
    return find_pair(request->arguments, name);
}

bool cw_page_is_post(const struct cw_page_request *request)
{
    return request->is_post;
}

const char *cw_page_body(const struct cw_page_request *request)
{
    return cw_str_text(&request->body);
}

void cw_page_set_status(struct cw_page_request *request, unsigned status)
{
    request->status = status;
}

void cw_page_set_type(struct cw_page_request *request, const char *type)
{
    request->type = type;
}

void cw_page_add_header(struct cw_page_request *request, const char *name, const char *value)
{
    add_pair(&request->added, name, value);
}

void cw_http_answer(struct cw_page_request *request, bool ok, struct cw_str *text)
{
    request->text = *text;
    *text = (struct cw_str){0};
    request->ok = ok;
    cw_page_request_end(request);
}

struct cw_http_stream *cw_http_stream_begin(struct cw_page_request *request, cw_loop_fn *closed,
                                            void *arg)
{
    struct cw_http_stream *stream = cw_http_stream_new(request->http, closed, arg);
    request->stream = stream;
    request->ok = true;
    cw_page_request_end(request);
    return stream;
}
