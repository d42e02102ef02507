/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a server on its own port, over a connection of its own and in plain HTTP/2, so that what is
 * between a peer and the server is asked, too: descriptors, taking connections, gRPC. With TLS it only
 * greets: the server's part of the handshake is the answer, since the own certificate need not be one
 * that a client may show. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "rpc/server_int.h"

#define PERIOD_MS 1000
#define UNANSWERED_MS 5000
#define FRAME_HEAD 9 /* length (3 bytes), kind, flags, stream (4 bytes) */
enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_SETTINGS = 4 };
enum { END_STREAM = 1, END_HEADERS = 4 };

struct cw_probe {
    struct cw_server_part part;
    struct cw_server *server;
    struct cw_timer *timer;
    int fd; /* -1: no question is open */
    struct cw_poll *poll;
    bool asked; /* The question was sent. */
    int64_t since_ms;
    uint8_t got[4096];
    size_t got_n;
    char trouble[160]; /* "": the last answer was that it serves */
};

static void end(struct cw_probe *probe, const char *trouble)
{
    cw_poll_free(probe->poll);
    probe->poll = NULL;
    if (probe->fd >= 0)
        close(probe->fd);
    probe->fd = -1;
    probe->server->listener.own_n = 0;
    snprintf(probe->trouble, sizeof(probe->trouble), "%.159s", trouble);
}

static void add_frame(struct cw_str *out, uint8_t kind, uint8_t flags, uint8_t stream,
                      const struct cw_str *body)
{
    const uint8_t head[FRAME_HEAD] = {
        0, (uint8_t)(body->len >> 8), (uint8_t)body->len, kind, flags, 0, 0, 0, stream};
    cw_str_add_bytes(out, head, sizeof(head));
    cw_str_add_bytes(out, cw_str_text(body), body->len);
}

/* A call of grpc.health.v1.Health/Check with an empty message. */
static void add_question(struct cw_str *out)
{
    static const char *const headers[][2] = {
        {":method", "POST"},   {":scheme", "http"},
        {":authority", "own"}, {":path", "/grpc.health.v1.Health/Check"},
        {"te", "trailers"},    {"content-type", "application/grpc"}};
    CW_STR_AUTO block = {0};
    CW_STR_AUTO nothing = {0};
    CW_STR_AUTO message = {0};
    cw_str_add(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    add_frame(out, FRAME_SETTINGS, 0, 0, &nothing);
    for (size_t i = 0; i < CW_ARRAY_LEN(headers); i++) {
        cw_str_add_bytes(&block, "", 1); /* a literal header that is not indexed */
        for (size_t k = 0; k < 2; k++) {
            cw_str_add_char(&block, (char)strlen(headers[i][k]));
            cw_str_add(&block, headers[i][k]);
        }
    }
    add_frame(out, FRAME_HEADERS, END_HEADERS, 1, &block);
    cw_str_add_bytes(&message, "\0\0\0\0\0", 5); /* not compressed, no bytes */
    add_frame(out, FRAME_DATA, END_STREAM, 1, &message);
}

/* The first message of a client that knows TLS 1.2 and HTTP/2: a record (22) with a message (1). */
#define HELLO                                                                                      \
    "\x16\x03\x01\0\x60\x01\0\0\x5c\x03\x03"         /* 0x60 bytes: a message of 0x5c bytes */     \
    "cachew asks itself on its port.."               /* what is random otherwise */                \
    "\0\0\x08\xc0\x2b\xc0\x2f\xc0\x2c\xc0\x30\x01\0" /* no session; ciphers; not compressed */     \
    "\0\x2b\0\x0a\0\x08\0\x06\0\x1d\0\x17\0\x18"     /* extensions: groups */                      \
    "\0\x0b\0\x02\x01\0"                             /* forms of points */                         \
    "\0\x0d\0\x0c\0\x0a\x04\x03\x08\x04\x04\x01\x05\x03\x06\x03" /* signatures */                  \
    "\0\x10\0\x05\0\x03\x02h2"                                   /* the protocol */

static bool ask(struct cw_probe *probe)
{
    CW_STR_AUTO question = {0};
    if (probe->server->listener.tls)
        cw_str_add_bytes(&question, HELLO, sizeof(HELLO) - 1);
    else
        add_question(&question);
    probe->asked = true;
    return send(probe->fd, cw_str_text(&question), question.len, MSG_NOSIGNAL) ==
           (ssize_t)question.len;
}

#define TLS_HANDSHAKE 22

static int find_tls_answer(const struct cw_probe *probe)
{
    return probe->got[0] == TLS_HANDSHAKE && cw_server_is_serving(probe->server);
}

/* Returns 1: it serves; 0: it does not; -1: more has to come. */
static int find_answer(const struct cw_probe *probe)
{
    if (probe->server->listener.tls)
        return find_tls_answer(probe);
    static const uint8_t serves[] = {0, 0, 0, 0, 2, 8, 1};
    const uint8_t *p = probe->got;
    size_t left = probe->got_n;
    while (left >= FRAME_HEAD) {
        size_t n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];
        if (left < FRAME_HEAD + n)
            break;
        if (p[3] == FRAME_DATA)
            return n == sizeof(serves) && memcmp(p + FRAME_HEAD, serves, n) == 0;
        if (p[3] == FRAME_HEADERS && (p[4] & END_STREAM) != 0)
            return 0;
        p += FRAME_HEAD + n;
        left -= FRAME_HEAD + n;
    }
    return probe->got_n == sizeof(probe->got) ? 0 : -1;
}

/* The server speaks first, when it has taken the connection. */
static void on_readable(void *arg)
{
    struct cw_probe *probe = arg;
    ssize_t n = recv(probe->fd, probe->got + probe->got_n, sizeof(probe->got) - probe->got_n, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end(probe, "the own port refuses connections");
        return;
    }
    probe->got_n += (size_t)n;
    int answer = find_answer(probe);
    if (answer >= 0)
        end(probe, answer > 0 ? "" : "the own port does not serve");
    else if (!probe->asked && !ask(probe))
        end(probe, "the own port takes no question");
}

static void begin(struct cw_probe *probe)
{
    struct cw_listener *listener = &probe->server->listener;
    struct sockaddr_storage to = {0};
    socklen_t n = sizeof(to), own_n = sizeof(listener->own);
    struct cw_err err = {0};
    probe->asked = false;
    probe->got_n = 0;
    probe->since_ms = cw_clock_ms();
    if (listener->n == 0 || getsockname(listener->fds[0], (struct sockaddr *)&to, &n) != 0) {
        end(probe, "it does not listen");
        return;
    }
    probe->fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe->fd < 0 ||
        (connect(probe->fd, (struct sockaddr *)&to, n) != 0 && errno != EINPROGRESS) ||
        getsockname(probe->fd, (struct sockaddr *)&listener->own, &own_n) != 0) {
        end(probe, strerror(errno));
        return;
    }
    listener->own_n = own_n;
    probe->poll = cw_poll_new(probe->server->rpc->loop, probe->fd, on_readable, probe, &err);
    if (!probe->poll)
        end(probe, err.msg);
    else if (listener->tls && !ask(probe)) /* With TLS the client speaks first. */
        end(probe, "the own port takes no question");
}

static void on_timer(void *arg)
{
    struct cw_probe *probe = arg;
    if (probe->fd >= 0 && cw_clock_ms() - probe->since_ms > UNANSWERED_MS)
        end(probe, "the own port does not answer");
    if (probe->fd < 0)
        begin(probe);
}

static void on_stop(struct cw_server_part *part)
{
    struct cw_probe *probe = CW_CONTAINER_OF(part, struct cw_probe, part);
    end(probe, "the server is stopping");
    cw_timer_free(cw_steal(&probe->timer));
}

static void on_destroy(struct cw_server_part *part)
{
    struct cw_probe *probe = CW_CONTAINER_OF(part, struct cw_probe, part);
    end(probe, "");
    cw_timer_free(probe->timer);
    cw_mem_free(probe);
}

void cw_server_add_probe(struct cw_server *server)
{
    struct cw_probe *probe = CW_NEW(struct cw_probe);
    probe->part = (struct cw_server_part){.stop = on_stop, .destroy = on_destroy};
    probe->server = server;
    probe->fd = -1;
    (void)snprintf(probe->trouble, sizeof(probe->trouble), "the own port was not asked yet");
    probe->timer = cw_timer_new(server->rpc->loop, on_timer, probe);
    cw_timer_start(probe->timer, 0, PERIOD_MS);
    server->probe = probe;
    cw_server_add_part(server, &probe->part);
}

const char *cw_server_trouble(const struct cw_server *server)
{
    const struct cw_probe *probe = server->probe;
    return probe && probe->trouble[0] != '\0' ? probe->trouble : NULL;
}
