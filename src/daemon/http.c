/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server of a daemon: its thread passes each request to the loop, and waits for the
 * page. */
#include "daemon/http.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "daemon/daemon_int.h"

/* how long a request waits for the loop; scrapers usually give up after 10 s */
#define ANSWER_NS ((int64_t)5 * 1000000000)
#define HOST_BYTES 256
#define SWEEP_MS 1000

struct cw_http_peer { /* a connection; microhttpd has it, too */
    struct cw_http_peer *next, **prev;
    int fd;
    int64_t until_ms; /* It is ended then. */
};

/* ---- connections ---- */

/* A connection has begun, or has ended. On the HTTP thread, which closes the descriptor after
 * that. */
static void on_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct cw_http *http = arg;
    struct cw_http_peer *peer = *socket_context;
    cw_mutex_lock(&http->mutex);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        peer = CW_NEW(struct cw_http_peer);
        *peer = (struct cw_http_peer){.next = http->peers,
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

/* A request has come as a whole: there is so much time until the next one. */
static void note_request(struct cw_http *http, struct MHD_Connection *connection, int64_t ms)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct cw_http_peer *peer = info ? info->socket_context : NULL;
    cw_mutex_lock(&http->mutex);
    if (peer)
        peer->until_ms = cw_clock_ms() + ms;
    cw_mutex_unlock(&http->mutex);
}

/* microhttpd's own limit counts from the last byte, so a byte now and then is enough for it. */
static void on_sweep(void *arg)
{
    struct cw_http *http = arg;
    int64_t now = cw_clock_ms();
    cw_mutex_lock(&http->mutex);
    for (struct cw_http_peer *peer = http->peers; peer; peer = peer->next)
        if (peer->fd >= 0 && now > peer->until_ms)
            (void)shutdown(peer->fd, SHUT_RDWR);
    cw_mutex_unlock(&http->mutex);
}

/* ---- making the page ---- */

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

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status,
                                   const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                  "text/plain; charset=utf-8");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* Has the loop answer the request, and waits for it. */
static enum MHD_Result answer_page(struct MHD_Connection *connection,
                                   struct cw_page_request *request)
{
    struct cw_http *http = request->http;
    int64_t until = cw_clock_ns() + ANSWER_NS;
    request->node = (struct cw_loop_node){.fn = on_loop, .arg = request};
    (void)__atomic_add_fetch(&request->refs, 1, __ATOMIC_RELAXED);
    cw_loop_post_node(http->loop, &request->node);
    cw_mutex_lock(&http->mutex);
    while (!request->done && !http->stopping &&
           cw_cond_wait_until(&http->cond, &http->mutex, until)) {
    }
    bool done = request->done;
    request->left = !done;
    cw_mutex_unlock(&http->mutex);
    if (!done)
        return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                           "the daemon ends, or is too busy\n");
    if (request->stream) /* microhttpd's limit ends it when nobody takes what is sent. */
        note_request(http, connection, CW_HTTP_STREAM_MS);
    return cw_page_request_send(request, connection);
}

static const struct cw_http_page *find_page(const struct cw_http *http, const char *url)
{
    const struct cw_http_page *page = http->pages;
    while (page->path && strcmp(page->path, url) != 0)
        page++;
    return page->path ? page : NULL;
}

/* The request is over, whether or not it was answered. */
static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)arg;
    (void)connection;
    (void)code;
    if (*state)
        cw_page_request_unref(*state);
    *state = NULL;
}

/* microhttpd calls this when the header has come, for each piece of the body, and at the end. An
 * answer to the header alone would end the connection. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    static const struct cw_http_page none = {0};
    struct cw_http *http = arg;
    struct cw_page_request *request = *state;
    (void)version;
    if (!request) {
        const struct cw_http_page *page = find_page(http, url);
        bool is_post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
        if (is_post ? !page || !page->takes_post
                    : strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
                          strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
            return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
        request = *state = cw_page_request_new(http, connection, page ? page : &none);
        request->is_post = is_post;
        return MHD_YES;
    }
    if (*upload_size > 0) { /* What is too much is not kept, and refused at the end. */
        size_t room = CW_HTTP_BODY_MAX + 1 - request->body.len;
        cw_str_add_bytes(&request->body, upload, CW_MIN(*upload_size, room));
        *upload_size = 0;
        return MHD_YES;
    }
    note_request(http, connection, CW_HTTP_IDLE_MS);
    if (!request->page->path)
        return answer_text(connection, MHD_HTTP_NOT_FOUND, "there is no such page\n");
    if (request->body.len > CW_HTTP_BODY_MAX)
        return answer_text(connection, MHD_HTTP_CONTENT_TOO_LARGE, "that is too much\n");
    return answer_page(connection, request);
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
    return cw_http_start_tls(loop, listen, pages, NULL, NULL, ret_http, err);
}

int cw_http_start_tls(struct cw_loop *loop, const char *listen, const struct cw_http_page *pages,
                      const char *cert, const char *key, struct cw_http **ret_http,
                      struct cw_err *err)
{
    struct sockaddr_storage address = {0};
    int rc = resolve(listen, &address, err);
    if (rc < 0)
        return rc;
    struct cw_http *http = CW_NEW(struct cw_http);
    *http = (struct cw_http){.loop = loop, .pages = pages, .refs = 1};
    http->cert = cw_mem_strdup(cert);
    http->key = cw_mem_strdup(key);
    cw_mutex_init(&http->mutex);
    cw_cond_init(&http->cond);
    const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, http->cert},
                                         {MHD_OPTION_HTTPS_MEM_KEY, 0, http->key},
                                         {MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_ALLOW_SUSPEND_RESUME |
                     (address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0) | (cert ? MHD_USE_TLS : 0);
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CW_HTTP_CONNECTIONS_MAX,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CW_HTTP_HOST_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(CW_HTTP_IDLE_MS / 1000),
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_ARRAY, cert ? tls : &tls[2], MHD_OPTION_END);
    if (!http->daemon) {
        cw_http_unref(http);
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
    cw_http_streams_wake(http);
    cw_timer_free(http->sweep);
    MHD_stop_daemon(http->daemon);
    cw_http_unref(http); /* requests that the loop has not handled yet keep it */
}
