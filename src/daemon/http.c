/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server of a daemon: its thread passes each request to the loop, and waits for the
 * page. */
#include "daemon/http.h"

#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/thread.h"

/* how long a request waits for the loop; scrapers usually give up after 10 s */
#define ANSWER_NS ((int64_t)5 * 1000000000)
#define HOST_BYTES 256
#define SWEEP_MS 1000

struct cw_http {
    struct cw_loop *loop;
    const struct cw_http_page *pages;
    struct MHD_Daemon *daemon;
    struct cw_mutex mutex; /* guards `stopping` and `peers`, and `done` of all requests */
    struct cw_cond cond;
    bool stopping;
    struct peer *peers;
    struct cw_timer *sweep; /* ends connections that are slow */
    uint32_t refs;          /* atomic: references of the owner and of requests */
};
struct peer { /* a connection; microhttpd has it, too */
    struct peer *next, **prev;
    int fd;
    int64_t until_ms; /* It is ended then. */
};
struct cw_page_request { /* The HTTP thread refers to it, and whoever makes the page. */
    struct cw_loop_node node;
    struct cw_http *http;
    const struct cw_http_page *page;
    struct cw_str text;
    bool done, ok; /* guarded by mutex */
    uint32_t refs; /* atomic */
};

static void http_unref(struct cw_http *http)
{
    if (__atomic_sub_fetch(&http->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cw_cond_fini(&http->cond);
    cw_mutex_fini(&http->mutex);
    cw_mem_free(http);
}

static void request_unref(struct cw_page_request *request)
{
    if (__atomic_sub_fetch(&request->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cw_str_fini(&request->text);
    http_unref(request->http);
    cw_mem_free(request);
}

/* ---- connections ---- */

/* A connection has begun, or has ended. On the HTTP thread, which closes the descriptor after
 * that. */
static void on_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct cw_http *http = arg;
    struct peer *peer = *socket_context;
    cw_mutex_lock(&http->mutex);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        peer = CW_NEW(struct peer);
        *peer = (struct peer){.next = http->peers,
                              .prev = &http->peers,
                              .fd = info ? info->connect_fd : -1,
                              .until_ms = cw_clock_ms() + CW_HTTP_REQUEST_MS};
        if (peer->next)
            peer->next->prev = &peer->next;
        http->peers = peer;
        *socket_context = peer;
    } else if (peer) {
        *peer->prev = peer->next;
        if (peer->next)
            peer->next->prev = peer->prev;
        cw_mem_free(peer);
        *socket_context = NULL;
    }
    cw_mutex_unlock(&http->mutex);
}

/* A request has come as a whole: there may be time until the next one. */
static void note_request(struct cw_http *http, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct peer *peer = info ? info->socket_context : NULL;
    cw_mutex_lock(&http->mutex);
    if (peer)
        peer->until_ms = cw_clock_ms() + CW_HTTP_IDLE_MS;
    cw_mutex_unlock(&http->mutex);
}

/* microhttpd's own limit counts from the last byte, so a byte now and then is enough for it. */
static void on_sweep(void *arg)
{
    struct cw_http *http = arg;
    int64_t now = cw_clock_ms();
    cw_mutex_lock(&http->mutex);
    for (struct peer *peer = http->peers; peer; peer = peer->next)
        if (peer->fd >= 0 && now > peer->until_ms)
            (void)shutdown(peer->fd, SHUT_RDWR);
    cw_mutex_unlock(&http->mutex);
}

/* ---- making the page ---- */

void cw_http_answer(struct cw_page_request *request, bool ok, struct cw_str *text)
{
    struct cw_http *http = request->http;
    cw_mutex_lock(&http->mutex);
    request->text = *text;
    *text = (struct cw_str){0};
    request->ok = ok;
    request->done = true;
    cw_cond_broadcast(&http->cond);
    cw_mutex_unlock(&http->mutex);
    request_unref(request);
}

static void on_loop(void *arg)
{
    struct cw_page_request *request = arg;
    const struct cw_http_page *page = request->page;
    struct cw_http *http = request->http;
    struct cw_str text = {0};
    cw_mutex_lock(&http->mutex);
    bool stopping = http->stopping;
    cw_mutex_unlock(&http->mutex);
    if (stopping)
        cw_http_answer(request, false, &text);
    else if (page->begin)
        page->begin(page->arg, request);
    else
        cw_http_answer(request, page->print(page->arg, &text), &text);
}

/* ---- on the HTTP thread ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              const char *text, size_t n)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
    return answer(connection, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result answer_page(struct cw_http *http, struct MHD_Connection *connection,
                                   const struct cw_http_page *page)
{
    struct cw_page_request *request = CW_NEW(struct cw_page_request);
    *request = (struct cw_page_request){
        .node = {.fn = on_loop, .arg = request}, .http = http, .page = page, .refs = 2};
    (void)__atomic_add_fetch(&http->refs, 1, __ATOMIC_RELAXED);
    int64_t until = cw_clock_ns() + ANSWER_NS;
    cw_loop_post_node(http->loop, &request->node);
    cw_mutex_lock(&http->mutex);
    while (!request->done && !http->stopping &&
           cw_cond_wait_until(&http->cond, &http->mutex, until)) {
    }
    bool done = request->done, ok = request->ok;
    cw_mutex_unlock(&http->mutex);
    enum MHD_Result result;
    if (!done)
        result = answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                             "the daemon ends, or is too busy\n");
    else
        result = answer(connection, ok ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, page->type,
                        cw_str_text(&request->text), request->text.len);
    request_unref(request);
    return result;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    struct cw_http *http = arg;
    static int begun;
    (void)version;
    (void)upload;
    (void)upload_size;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    /* Only the header of the request has come: an answer at this point would end the connection. */
    if (!*state) {
        *state = &begun;
        return MHD_YES;
    }
    note_request(http, connection);
    for (const struct cw_http_page *page = http->pages; page->path; page++)
        if (strcmp(page->path, url) == 0)
            return answer_page(http, connection, page);
    return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is no such page\n");
}

/* ---- starting and stopping ---- */

static int resolve(const char *listen, struct sockaddr_storage *ret_address, struct cw_err *err)
{
    const char *colon = strrchr(listen, ':');
    size_t n = colon ? (size_t)(colon - listen) : 0;
    char host[HOST_BYTES];
    bool bracket = n > 2 && listen[0] == '[' && listen[n - 1] == ']';
    uint64_t port;
    if (n == 0 || n >= sizeof(host) || !cw_str_to_u64(colon + 1, &port) || port > 65535 ||
        (!bracket && memchr(listen, ':', n)))
        return cw_err_set(err, CW_E_INVALID,
                          "\"%s\" is not HOST:PORT (an IPv6 address goes into brackets)", listen);
    (void)snprintf(host, sizeof(host), "%.*s", (int)(bracket ? n - 2 : n),
                   bracket ? listen + 1 : listen);
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(host, colon + 1, &hints, &found);
    if (rc != 0)
        return cw_err_set(err, CW_E_INVALID, "\"%s\": %s", listen, gai_strerror(rc));
    memcpy(ret_address, found->ai_addr, CW_MIN(found->ai_addrlen, sizeof(*ret_address)));
    freeaddrinfo(found);
    return 0;
}

int cw_http_start(struct cw_loop *loop, const char *listen, const struct cw_http_page *pages,
                  struct cw_http **ret_http, struct cw_err *err)
{
    struct sockaddr_storage address = {0};
    int rc = resolve(listen, &address, err);
    if (rc < 0)
        return rc;
    struct cw_http *http = CW_NEW(struct cw_http);
    *http = (struct cw_http){.loop = loop, .pages = pages, .refs = 1};
    cw_mutex_init(&http->mutex);
    cw_cond_init(&http->cond);
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                     (address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0);
    http->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned)CW_HTTP_CONNECTIONS_MAX,
                         MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CW_HTTP_HOST_MAX,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(CW_HTTP_IDLE_MS / 1000),
                         MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_END);
    if (!http->daemon) {
        http_unref(http);
        return cw_err_set(err, CW_E_IO,
                          "cannot listen on %s: is the port taken, the address another host's?",
                          listen);
    }
    http->sweep = cw_timer_new(loop, on_sweep, http);
    cw_timer_start(http->sweep, SWEEP_MS, SWEEP_MS);
    *ret_http = http;
    return 0;
}

uint16_t cw_http_port(const struct cw_http *http)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

void cw_http_stop(struct cw_http *http)
{
    if (!http)
        return;
    cw_mutex_lock(&http->mutex);
    http->stopping = true;
    cw_cond_broadcast(&http->cond);
    cw_mutex_unlock(&http->mutex);
    cw_timer_free(http->sweep);
    MHD_stop_daemon(http->daemon);
    http_unref(http); /* requests that the loop has not handled yet keep it */
}
