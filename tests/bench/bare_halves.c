/* SPDX-License-Identifier: Apache-2.0 */
/* What gRPC keeps of calls that end in the middle of a message, in a server that is nothing but gRPC:
 * no limit of ours, no code of ours. Calls announce 60 MiB and send 58 of them; the server reads, and
 * then cancels the call, or the peer does, or the connection ends. Prints the resident memory of the
 * process. Status 1: more than LEFT_MAX MiB stay. Usage: bare_halves [ROUNDS] [CALLS] */
#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANNOUNCED (60u << 20)
#define SENT (58u << 20)
#define CALLS_MAX 64
#define LEFT_MAX 40.0 /* MiB: less than one call has sent */

enum how { SERVER_CANCELS, PEER_RESETS, PEER_CLOSES };
static const char *const how_names[] = {"the server cancels", "the peer resets",
                                        "the connection ends"};

static double resident_mb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        exit(1);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

/* ---- the peer, by hand, in a process of its own ---- */

static void put(int fd, const void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(fd, (const char *)p + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            exit(0); /* the server has ended it */
        at += (size_t)sent;
    }
}

static void put_frame(int fd, uint8_t kind, uint8_t flags, uint32_t stream, const void *p, size_t n)
{
    const uint8_t head[9] = {(uint8_t)(n >> 16),
                             (uint8_t)(n >> 8),
                             (uint8_t)n,
                             kind,
                             flags,
                             (uint8_t)(stream >> 24),
                             (uint8_t)(stream >> 16),
                             (uint8_t)(stream >> 8),
                             (uint8_t)stream};
    put(fd, head, sizeof(head));
    put(fd, p, n);
}

static size_t add_header(char *p, const char *key, const char *value)
{
    size_t k = strlen(key), v = strlen(value);
    p[0] = 0;
    p[1] = (char)k;
    memcpy(p + 2, key, k);
    p[2 + k] = (char)v;
    memcpy(p + 3 + k, value, v);
    return 3 + k + v;
}

struct peer {
    int fd;
    int64_t window, windows[CALLS_MAX], initial;
    uint8_t got[1 << 16];
    size_t got_n;
};

static uint32_t number(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void take_frame(struct peer *peer, const uint8_t *head, const uint8_t *body, size_t n,
                       size_t calls)
{
    uint32_t stream = number(head + 5);
    if (head[3] == 8 && stream == 0)
        peer->window += number(body);
    else if (head[3] == 8 && stream / 2 < calls)
        peer->windows[stream / 2] += number(body);
    if (head[3] == 6 && !(head[4] & 1))
        put_frame(peer->fd, 6, 1, 0, body, n);
    if (head[3] != 4 || (head[4] & 1))
        return;
    for (size_t i = 0; i + 6 <= n; i += 6) {
        if (body[i + 1] != 4)
            continue;
        int64_t initial = number(body + i + 2);
        for (size_t k = 0; k < calls; k++)
            peer->windows[k] += initial - peer->initial;
        peer->initial = initial;
    }
    put_frame(peer->fd, 4, 1, 0, "", 0);
}

static void take_some(struct peer *peer, size_t calls)
{
    ssize_t n = recv(peer->fd, peer->got + peer->got_n, sizeof(peer->got) - peer->got_n, 0);
    if (n <= 0)
        exit(0);
    peer->got_n += (size_t)n;
    size_t at = 0;
    while (peer->got_n - at >= 9) {
        size_t body = number(peer->got + at) >> 8;
        if (peer->got_n - at < 9 + body)
            break;
        take_frame(peer, peer->got + at, peer->got + at + 9, body, calls);
        at += 9 + body;
    }
    memmove(peer->got, peer->got + at, peer->got_n - at);
    peer->got_n -= at;
}

static void begin_calls(struct peer *peer, size_t calls)
{
    char block[512];
    size_t n = add_header(block, ":method", "POST");
    n += add_header(block + n, ":scheme", "http");
    n += add_header(block + n, ":path", "/bare/Call");
    n += add_header(block + n, ":authority", "bare");
    n += add_header(block + n, "content-type", "application/grpc");
    n += add_header(block + n, "te", "trailers");
    put(peer->fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    put_frame(peer->fd, 4, 0, 0, "", 0);
    for (size_t i = 0; i < calls; i++) {
        peer->windows[i] = peer->initial;
        put_frame(peer->fd, 1, 4, (uint32_t)(2 * i + 1), block, n);
    }
}

static void send_half(struct peer *peer, size_t call, size_t calls)
{
    static uint8_t bytes[16384];
    const uint8_t head[5] = {0, ANNOUNCED >> 24, (ANNOUNCED >> 16) & 255, 0, 0};
    memcpy(bytes, head, sizeof(head));
    for (size_t left = SENT; left > 0;) {
        int64_t n = (int64_t)(left < sizeof(bytes) ? left : sizeof(bytes));
        n = n < peer->window ? n : peer->window;
        n = n < peer->windows[call] ? n : peer->windows[call];
        if (n <= 0) {
            take_some(peer, calls);
            continue;
        }
        put_frame(peer->fd, 0, 0, (uint32_t)(2 * call + 1), bytes, (size_t)n);
        memset(bytes, 0, sizeof(head));
        peer->window -= n;
        peer->windows[call] -= n;
        left -= (size_t)n;
    }
}

static void run_peer(int port, size_t calls, enum how how, int sent, int go_on)
{
    static struct peer peer;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char byte = 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    peer.fd = socket(AF_INET, SOCK_STREAM, 0);
    peer.window = peer.initial = 65535;
    if (connect(peer.fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        exit(1);
    begin_calls(&peer, calls);
    for (size_t i = 0; i < calls; i++)
        send_half(&peer, i, calls);
    if (write(sent, "", 1) != 1 || read(go_on, &byte, 1) != 1)
        exit(1);
    for (size_t i = 0; i < calls && how == PEER_RESETS; i++)
        put_frame(peer.fd, 3, 0, (uint32_t)(2 * i + 1), "\0\0\0\10", 4);
    if (how != PEER_CLOSES && read(go_on, &byte, 1) != 1) /* the connection stays */
        exit(1);
    exit(0);
}

/* ---- the server: gRPC's core, and a queue ---- */

struct call {
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array md;
    grpc_byte_buffer *message;
    int cancelled;
    bool asked, ended;
};
static struct call calls[CALLS_MAX];
static grpc_completion_queue *queue;
static grpc_server *server;

static void ask(struct call *call)
{
    memset(call, 0, sizeof(*call));
    grpc_call_details_init(&call->details);
    grpc_metadata_array_init(&call->md);
    call->asked = true;
    if (grpc_server_request_call(server, &call->call, &call->details, &call->md, queue, queue,
                                 call) != GRPC_CALL_OK)
        exit(1);
}

static void read_message(struct call *call)
{
    grpc_op close = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER}, recv = {.op = GRPC_OP_RECV_MESSAGE};
    close.data.recv_close_on_server.cancelled = &call->cancelled;
    recv.data.recv_message.recv_message = &call->message;
    call->asked = false;
    if (grpc_call_start_batch(call->call, &close, 1, &call->ended, NULL) != GRPC_CALL_OK ||
        grpc_call_start_batch(call->call, &recv, 1, &call->message, NULL) != GRPC_CALL_OK)
        exit(1);
}

/* Takes events until a descriptor can be read (-1: none), or so many calls have ended. */
static void serve(int until, size_t n)
{
    size_t ended = 0;
    for (;;) {
        struct pollfd poll_fd = {.fd = until, .events = POLLIN};
        if (ended == n || (until >= 0 && poll(&poll_fd, 1, 0) == 1))
            return;
        gpr_timespec soon =
            gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(50, GPR_TIMESPAN));
        grpc_event event = grpc_completion_queue_next(queue, soon, NULL);
        if (event.type != GRPC_OP_COMPLETE)
            continue;
        size_t i = (size_t)((char *)event.tag - (char *)calls) / sizeof(struct call);
        struct call *call = &calls[i];
        if (event.tag == call && call->asked && event.success)
            read_message(call);
        else if (event.tag == &call->ended)
            ended++;
    }
}

static void forget(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (calls[i].message)
            grpc_byte_buffer_destroy(calls[i].message);
        grpc_call_unref(calls[i].call);
        grpc_call_details_destroy(&calls[i].details);
        grpc_metadata_array_destroy(&calls[i].md);
    }
}

static void round_of(int port, size_t n, enum how how, double *ret_held, double *ret_left)
{
    int sent[2], go_on[2];
    char byte;
    if (pipe(sent) != 0 || pipe(go_on) != 0)
        exit(1);
    for (size_t i = 0; i < n; i++)
        ask(&calls[i]);
    pid_t pid = fork();
    if (pid == 0)
        run_peer(port, n, how, sent[1], go_on[0]);
    serve(sent[0], SIZE_MAX);
    if (read(sent[0], &byte, 1) != 1)
        exit(1);
    *ret_held = resident_mb();
    for (size_t i = 0; i < n && how == SERVER_CANCELS; i++)
        grpc_call_cancel(calls[i].call, NULL);
    if (write(go_on[1], "", 1) != 1)
        exit(1);
    serve(-1, n);
    forget(n);
    malloc_trim(0);
    *ret_left = resident_mb();
    (void)!write(go_on[1], "", 1);
    (void)waitpid(pid, NULL, 0);
    for (size_t i = 0; i < 2; i++) {
        close(sent[i]);
        close(go_on[i]);
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
    grpc_arg limit = {.type = GRPC_ARG_INTEGER,
                      .key = (char *)(uintptr_t) "grpc.max_receive_message_length"};
    limit.value.integer = 64 << 20;
    grpc_channel_args args = {1, &limit};
    if (n < 1 || n > CALLS_MAX)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    grpc_init();
    queue = grpc_completion_queue_create_for_next(NULL);
    server = grpc_server_create(&args, NULL);
    grpc_server_register_completion_queue(server, queue, NULL);
    int port = grpc_server_add_http2_port(server, "127.0.0.1:0",
                                          grpc_insecure_server_credentials_create());
    grpc_server_start(server);
    printf("gRPC %s; %zu calls a round, each announces 60 MiB and sends 58\n"
           "how it ends           round   MiB held   MiB left   MiB left for each call so far\n",
           grpc_version_string(), n);
    double most = 0;
    for (int how = SERVER_CANCELS; how <= PEER_CLOSES; how++) {
        double first = resident_mb();
        for (int i = 1; i <= rounds; i++) {
            double held, left;
            round_of(port, n, (enum how)how, &held, &left);
            printf("%-20s %6d %10.0f %10.0f %10.2f\n", how_names[how], i, held, left,
                   (left - first) / ((double)n * i));
            most = left - first > most ? left - first : most;
        }
    }
    if (most > LEFT_MAX)
        fprintf(stderr, "bare_halves: %.0f MiB stay, %.0f are allowed\n", most, LEFT_MAX);
    _exit(most > LEFT_MAX);
}
