/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 server for tests, on libuv. */
#include "kubernetes/http_front.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/mem.h"
#include "base/str.h"

enum { MAX_HEAD = 64 * 1024, MAX_BODY = 64 * 1024 * 1024, BACKLOG = 256 };

struct http_conn {
    uv_tcp_t tcp; /* first: the handle is the connection */
    struct http_front *front;
    struct http_conn *next;
    struct cw_str in;
    bool is_busy;      /* a request is being answered */
    bool was_told;     /* 100 Continue was sent for the present request */
    bool closes_after; /* the client wants no further request */
    bool is_closing;
    bool is_handling; /* the head's function runs */
    http_gone_fn *gone;
    void *stream;
};

struct http_front {
    uv_tcp_t listener;
    uv_timer_t back;
    uv_loop_t *loop;
    struct sockaddr_in address;
    http_request_fn *fn;
    void *arg;
    struct http_conn *conns;
    bool listens, closes;
    int open_handles;
};

/* ---- closing ---- */
static void forget(struct http_conn *conn)
{
    struct http_conn **at = &conn->front->conns;
    while (*at && *at != conn)
        at = &(*at)->next;
    if (*at)
        *at = conn->next;
}

static void free_front(struct http_front *front)
{
    if (front->closes && front->open_handles == 0)
        cw_mem_free(front);
}

static void on_conn_closed(uv_handle_t *handle)
{
    struct http_conn *conn = (struct http_conn *)handle;
    struct http_front *front = conn->front;
    cw_str_fini(&conn->in);
    cw_mem_free(conn);
    front->open_handles--;
    free_front(front);
}

static bool start_closing(struct http_conn *conn)
{
    if (conn->is_closing)
        return false;
    conn->is_closing = true;
    forget(conn);
    http_gone_fn *gone = conn->gone;
    conn->gone = NULL;
    if (gone)
        gone(conn->stream);
    return true;
}

static void close_conn(struct http_conn *conn)
{
    if (start_closing(conn))
        uv_close((uv_handle_t *)&conn->tcp, on_conn_closed);
}

void http_reset(struct http_conn *conn)
{
    conn->gone = NULL;
    if (start_closing(conn))
        uv_tcp_close_reset(&conn->tcp, on_conn_closed);
}

/* ---- writing ---- */
struct write {
    uv_write_t request;
    char bytes[];
};

static void on_written(uv_write_t *request, int status)
{
    struct http_conn *conn = (struct http_conn *)request->handle;
    cw_mem_free(request);
    if (status < 0)
        close_conn(conn);
}

static void write_bytes(struct http_conn *conn, const char *bytes, size_t n)
{
    if (conn->is_closing)
        return;
    struct write *write = cw_mem_new(sizeof(*write) + n);
    memcpy(write->bytes, bytes, n);
    uv_buf_t buf = uv_buf_init(write->bytes, (unsigned)n);
    if (uv_write(&write->request, (uv_stream_t *)&conn->tcp, &buf, 1, on_written) < 0) {
        cw_mem_free(write);
        close_conn(conn);
    }
}

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } PHRASES[] = {
        {200, "OK"},
        {201, "Created"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {307, "Temporary Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {410, "Gone"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof(PHRASES) / sizeof(*PHRASES); i++)
        if (PHRASES[i].status == status)
            return PHRASES[i].phrase;
    return "Status";
}

static void next_request(struct http_conn *conn);

static void finish(struct http_conn *conn)
{
    conn->is_busy = false;
    conn->gone = NULL;
    if (conn->closes_after) {
        uv_shutdown_t *shutdown = cw_mem_new(sizeof(*shutdown));
        if (uv_shutdown(shutdown, (uv_stream_t *)&conn->tcp,
                        (uv_shutdown_cb)(void (*)(void))cw_mem_free) < 0)
            cw_mem_free(shutdown);
    } else if (!conn->is_handling) {
        next_request(conn);
    }
}

void http_answer(struct http_conn *conn, int status, const char *headers, const char *body,
                 size_t n)
{
    struct cw_str CW_CLEANUP(cw_str_fini) out = {0};
    cw_str_addf(&out, "HTTP/1.1 %d %s\r\n%sContent-Length: %zu\r\n\r\n", status, phrase_of(status),
                headers, n);
    cw_str_add_bytes(&out, body, n);
    write_bytes(conn, out.s, out.len);
    finish(conn);
}

void http_begin(struct http_conn *conn, int status, const char *headers, http_gone_fn *gone,
                void *stream)
{
    struct cw_str CW_CLEANUP(cw_str_fini) out = {0};
    cw_str_addf(&out, "HTTP/1.1 %d %s\r\n%sTransfer-Encoding: chunked\r\n\r\n", status,
                phrase_of(status), headers);
    conn->gone = gone;
    conn->stream = stream;
    write_bytes(conn, out.s, out.len);
}

void http_send(struct http_conn *conn, const char *bytes, size_t n)
{
    struct cw_str CW_CLEANUP(cw_str_fini) out = {0};
    if (n == 0)
        return;
    cw_str_addf(&out, "%zx\r\n", n);
    cw_str_add_bytes(&out, bytes, n);
    cw_str_add(&out, "\r\n");
    write_bytes(conn, out.s, out.len);
}

void http_end(struct http_conn *conn)
{
    write_bytes(conn, "0\r\n\r\n", 5);
    finish(conn);
}

void http_silence(struct http_conn *conn)
{
    (void)conn; /* it stays busy until the peer goes */
}

/* ---- reading ---- */
/* The value of a header in a head whose lines end in NUL; NULL: not there. */
static const char *header(const char *head, size_t n, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = head; line < head + n; line += strlen(line) + 1)
        if (strncasecmp(line, name, len) == 0 && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " ");
    return NULL;
}

/* Ends the lines of a head with NULs, in place of CR and LF. */
static void part_lines(char *head, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (head[i] == '\r' || head[i] == '\n')
            head[i] = '\0';
}

static void handle_whole(struct http_conn *conn, char *head, size_t head_n, const char *body,
                         size_t body_n)
{
    char *save = NULL;
    struct http_request request = {
        .content_type = header(head, head_n, "Content-Type"),
        .accept = header(head, head_n, "Accept"),
        .authorization = header(head, head_n, "Authorization"),
        .user_agent = header(head, head_n, "User-Agent"),
        .body = body,
        .body_n = body_n,
    };
    const char *connection = header(head, head_n, "Connection");
    conn->closes_after = connection && strcasecmp(connection, "close") == 0;
    request.method = strtok_r(head, " ", &save);
    char *target = strtok_r(NULL, " ", &save);
    char *query = target ? strchr(target, '?') : NULL;
    if (query)
        *query++ = '\0';
    request.path = target;
    request.query = query;
    conn->is_busy = conn->is_handling = true;
    if (request.method && target)
        conn->front->fn(conn->front->arg, conn, &request);
    else
        http_answer(conn, 400, "", "", 0);
    conn->is_handling = false;
}

/* Takes one request from what has come; false: it is not whole yet, or the connection closes. */
static bool take_request(struct http_conn *conn)
{
    const char *end = conn->in.s ? memmem(conn->in.s, conn->in.len, "\r\n\r\n", 4) : NULL;
    if (!end) {
        if (conn->in.len > MAX_HEAD)
            close_conn(conn);
        return false;
    }
    size_t head_n = (size_t)(end - conn->in.s) + 4;
    cw_autofree char *head = cw_mem_strndup(conn->in.s, head_n);
    part_lines(head, head_n);
    const char *length = header(head, head_n, "Content-Length");
    const char *expects = header(head, head_n, "Expect");
    size_t body_n = length ? strtoul(length, NULL, 10) : 0;
    if (body_n > MAX_BODY || header(head, head_n, "Transfer-Encoding")) {
        close_conn(conn);
        return false;
    }
    if (conn->in.len - head_n < body_n) {
        if (expects && !conn->was_told)
            write_bytes(conn, "HTTP/1.1 100 Continue\r\n\r\n", 25);
        conn->was_told = true;
        return false;
    }
    cw_autofree char *body = cw_mem_strndup(conn->in.s + head_n, body_n);
    struct cw_str rest = {0};
    cw_str_add_bytes(&rest, conn->in.s + head_n + body_n, conn->in.len - head_n - body_n);
    cw_str_fini(&conn->in);
    conn->in = rest;
    conn->was_told = false;
    handle_whole(conn, head, head_n, body, body_n);
    return !conn->is_closing;
}

static void next_request(struct http_conn *conn)
{
    while (!conn->is_busy && !conn->is_closing && take_request(conn)) {
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)handle;
    *ret = uv_buf_init(cw_mem_new(suggested), (unsigned)suggested);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct http_conn *conn = (struct http_conn *)stream;
    cw_autofree char *bytes = buf->base;
    if (n < 0) {
        close_conn(conn);
    } else if (n > 0) {
        cw_str_add_bytes(&conn->in, bytes, (size_t)n);
        next_request(conn);
    }
}

/* ---- listening ---- */
static void on_connection(uv_stream_t *listener, int status)
{
    struct http_front *front = listener->data;
    if (status < 0)
        return;
    struct http_conn *conn = CW_NEW(struct http_conn);
    conn->front = front;
    uv_tcp_init(front->loop, &conn->tcp);
    front->open_handles++;
    conn->next = front->conns;
    front->conns = conn;
    if (uv_accept(listener, (uv_stream_t *)&conn->tcp) < 0) {
        close_conn(conn);
        return;
    }
    uv_tcp_nodelay(&conn->tcp, 1);
    uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
}

static int start_listening(struct http_front *front)
{
    uv_tcp_init(front->loop, &front->listener);
    front->listener.data = front;
    front->open_handles++;
    front->listens = true;
    int rc = uv_tcp_bind(&front->listener, (const struct sockaddr *)&front->address, 0);
    return rc < 0 ? rc : uv_listen((uv_stream_t *)&front->listener, BACKLOG, on_connection);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct http_front *front = handle->data;
    front->open_handles--;
    free_front(front);
}

struct http_front *http_front_open(uv_loop_t *loop, const char *host, int port, http_request_fn *fn,
                                   void *arg, struct cw_err *err)
{
    struct http_front *front = CW_NEW(struct http_front);
    front->loop = loop;
    front->fn = fn;
    front->arg = arg;
    uv_ip4_addr(host, port, &front->address);
    uv_timer_init(loop, &front->back);
    front->back.data = front;
    front->open_handles++;
    int rc = start_listening(front);
    int len = sizeof(front->address);
    if (rc < 0) {
        cw_err_set(err, CW_E_UNAVAILABLE, "listening on %s:%d: %s", host, port, uv_strerror(rc));
        http_front_close(front);
        return NULL;
    }
    uv_tcp_getsockname(&front->listener, (struct sockaddr *)&front->address, &len);
    return front;
}

int http_front_port(const struct http_front *front)
{
    return ntohs(front->address.sin_port);
}

static void close_all(struct http_front *front)
{
    if (front->listens)
        uv_close((uv_handle_t *)&front->listener, on_handle_closed);
    front->listens = false;
    while (front->conns)
        close_conn(front->conns);
}

static void on_back(uv_timer_t *timer)
{
    struct http_front *front = timer->data;
    if (start_listening(front) < 0)
        abort();
}

void http_front_away(struct http_front *front, int64_t ms)
{
    close_all(front);
    uv_timer_start(&front->back, on_back, (uint64_t)ms, 0);
}

void http_front_close(struct http_front *front)
{
    front->closes = true;
    close_all(front);
    uv_close((uv_handle_t *)&front->back, on_handle_closed);
}
