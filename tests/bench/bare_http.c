/* SPDX-License-Identifier: Apache-2.0 */
/* For bench_read_ahead.py: an HTTP server on 127.0.0.1 whose every answer comes after the same delay,
 * and the least that a client can do.
 *
 *   bare_http serve BYTES DELAY_US            prints its port; GET /anything gives BYTES bytes
 *   bare_http get PORT BYTES OBJECTS AT_ONCE  reads so many objects, prints seconds
 *
 * Both are one thread each, so that they leave the CPUs to what is measured. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 2048
#define HEAD_MAX 4096

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A connection: of the server one request at a time, of the client one answer at a time. */
struct connection {
    char in[HEAD_MAX];
    size_t in_n;
    char head[HEAD_MAX];
    size_t head_n, begin, end, sent; /* of the answer: head, and bytes [begin, end) of the object */
    double due;                      /* when it may be sent */
    int next;                        /* in the list of those that are due later; -1: none */
    int state;                       /* 0: reads, 1: is late, 2: writes */
    size_t left; /* client: bytes of the answer that are missing; 0: the head is */
};
static struct connection *all;
static char *body;
static size_t body_n;
static double delay;
static int first = -1, last = -1, queue;

static void watch(int fd, unsigned events, int op)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(queue, op, fd, &event) != 0) {
        perror("epoll_ctl");
        exit(1);
    }
}

static void hang_up(int fd)
{
    all[fd].state = 0;
    all[fd].in_n = 0;
    close(fd);
}

/* Sends what is left of an answer; then the connection reads again. */
static void send_some(int fd)
{
    struct connection *c = &all[fd];
    size_t bytes = c->end - c->begin;
    while (c->sent < c->head_n + bytes) {
        const char *from =
            c->sent < c->head_n ? c->head + c->sent : body + c->begin + (c->sent - c->head_n);
        size_t n = c->sent < c->head_n ? c->head_n - c->sent : bytes - (c->sent - c->head_n);
        ssize_t done = send(fd, from, n, MSG_NOSIGNAL | (c->sent < c->head_n ? MSG_MORE : 0));
        if (done < 0 && errno == EAGAIN) {
            watch(fd, EPOLLOUT, EPOLL_CTL_MOD);
            return;
        }
        if (done < 0) {
            hang_up(fd);
            return;
        }
        c->sent += (size_t)done;
    }
    c->state = 0;
    watch(fd, EPOLLIN, EPOLL_CTL_MOD);
}

/* A request has come: its answer waits for its time. */
static void queue_answer(int fd)
{
    struct connection *c = &all[fd];
    const char *range = strstr(c->in, "Range: bytes=");
    size_t begin = 0, end = body_n;
    if (range && sscanf(range, "Range: bytes=%zu-%zu", &begin, &end) == 2)
        end = end + 1 < body_n ? end + 1 : body_n;
    c->begin = begin < end ? begin : end;
    c->end = end;
    c->head_n = (size_t)snprintf(c->head, sizeof(c->head),
                                 "HTTP/1.1 %s\r\nETag: \"1\"\r\nContent-Length: %zu\r\n"
                                 "Content-Range: bytes %zu-%zu/%zu\r\n\r\n",
                                 range ? "206 Partial" : "200 OK", end - c->begin, c->begin,
                                 end - 1, body_n);
    c->sent = 0;
    c->in_n = 0;
    c->state = 1;
    c->due = now() + delay;
    c->next = -1;
    if (last >= 0)
        all[last].next = fd;
    else
        first = fd;
    last = fd;
}

static void read_request(int fd)
{
    struct connection *c = &all[fd];
    ssize_t n = recv(fd, c->in + c->in_n, HEAD_MAX - 1 - c->in_n, 0);
    if (n <= 0 && (n == 0 || errno != EAGAIN)) {
        hang_up(fd);
        return;
    }
    c->in_n += n > 0 ? (size_t)n : 0;
    c->in[c->in_n] = '\0';
    if (strstr(c->in, "\r\n\r\n"))
        queue_answer(fd);
}

static void send_due(void)
{
    while (first >= 0 && all[first].due <= now()) {
        int fd = first;
        first = all[fd].next;
        if (first < 0)
            last = -1;
        all[fd].state = 2;
        send_some(fd);
    }
}

static void serve(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t at_n = sizeof(at);
    struct epoll_event events[64];
    int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(door, (struct sockaddr *)&at, at_n) != 0 || listen(door, 1024) != 0 ||
        getsockname(door, (struct sockaddr *)&at, &at_n) != 0)
        exit(1);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    watch(door, EPOLLIN, EPOLL_CTL_ADD);
    for (;;) {
        double wait = first >= 0 ? all[first].due - now() : 1;
        int n = epoll_wait(queue, events, 64, wait > 0 ? (int)(wait * 1000 + 0.999) : 0);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd != door) {
                if (all[fd].state == 2)
                    send_some(fd);
                else if (all[fd].state == 0)
                    read_request(fd);
                continue;
            }
            int one = accept4(door, NULL, NULL, SOCK_NONBLOCK);
            if (one >= 0 && one < CONNECTIONS)
                watch(one, EPOLLIN, EPOLL_CTL_ADD);
            else if (one >= 0)
                close(one);
        }
        send_due();
    }
}

/* ---- the client ---- */

static long number_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*end || n < 0)
        exit(2);
    return n;
}

static void ask(int fd, long number)
{
    char text[256];
    int n =
        snprintf(text, sizeof(text), "GET /%06ld HTTP/1.1\r\nHost: x\r\nRange: bytes=0-%zu\r\n\r\n",
                 number, body_n - 1);
    if (send(fd, text, (size_t)n, 0) != n)
        exit(1);
    all[fd].in_n = all[fd].left = 0;
}

/* Reads what has come. Returns whether the answer is complete. */
static int take(int fd)
{
    struct connection *c = &all[fd];
    if (c->left == 0) {
        ssize_t n = recv(fd, c->in + c->in_n, HEAD_MAX - 1 - c->in_n, 0);
        c->in_n += n > 0 ? (size_t)n : 0;
        c->in[c->in_n] = '\0';
        const char *end = strstr(c->in, "\r\n\r\n");
        if (!end)
            return 0;
        c->left = body_n - (c->in_n - (size_t)(end + 4 - c->in));
    }
    while (c->left > 0) {
        ssize_t n = recv(fd, body, c->left, 0);
        if (n <= 0)
            break;
        c->left -= (size_t)n;
    }
    return c->left == 0;
}

static void get(int port, long objects, int at_once)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((unsigned short)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event events[64];
    long asked = 0, done = 0;
    double began = now();
    for (int i = 0; i < at_once; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd >= CONNECTIONS || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
            exit(1);
        struct timeval soon = {.tv_usec = 1};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
        ask(fd, asked++);
    }
    while (done < objects) {
        int n = epoll_wait(queue, events, 64, -1);
        for (int i = 0; i < n; i++) {
            if (!take(events[i].data.fd))
                continue;
            done++;
            ask(events[i].data.fd, asked++);
        }
    }
    printf("%.6f\n", now() - began);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int serves = strcmp(argv[1], "serve") == 0;
    body_n = (size_t)number_of(argv[serves ? 2 : 3]);
    body = calloc(1, body_n + 1);
    all = calloc(CONNECTIONS, sizeof(*all));
    queue = epoll_create1(0);
    if (!body || !all)
        return 1;
    for (size_t i = 0; serves && i < body_n; i++)
        body[i] = (char)((i * 2654435761U) >> 13);
    delay = serves ? (double)number_of(argv[3]) / 1e6 : 0;
    if (serves)
        serve();
    else if (argc == 6)
        get((int)number_of(argv[2]), number_of(argv[4]), (int)number_of(argv[5]));
    return 0;
}
