/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/rpc_int.h"

#define TAKE_MAX 64   /* connections in one iteration of the loop */
#define PAUSE_MS 100  /* until the next attempt when the system has no descriptor left */
#define TELL_MS 60000 /* between two warnings of that */

/* ---- making sockets ---- */

static int bind_one(struct cw_listener *listener, const struct sockaddr *address, socklen_t n,
                    int family)
{
    int one = 1, none = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof(none));
    if (bind(fd, address, n) != 0 || listen(fd, SOMAXCONN) != 0) {
        int failure = errno;
        close(fd);
        return -failure;
    }
    listener->fds[listener->n++] = fd;
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t n = sizeof(own);
    if (getsockname(fd, (struct sockaddr *)&own, &n) != 0)
        return 0;
    return ntohs(own.ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)&own)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)&own)->sin_port);
}

static void set_port(struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

static int open_tcp(struct cw_listener *listener, const char *address, struct cw_err *err)
{
    char host[CW_RPC_HOST_BYTES];
    const char *port = NULL;
    int rc = cw_rpc_address_split(address, host, &port, err);
    if (rc != 0)
        return rc;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *infos = NULL;
    int failure = getaddrinfo(host, port, &hints, &infos);
    if (failure != 0)
        return cw_err_set(err, CW_E_NOT_FOUND, "cannot listen on %s: %s", address,
                          gai_strerror(failure));
    uint16_t number = 0;
    for (struct addrinfo *info = infos; info && listener->n < CW_LISTEN_SOCKETS_MAX;
         info = info->ai_next) {
        if (number > 0)
            set_port(info->ai_addr, number);
        int fd = bind_one(listener, info->ai_addr, info->ai_addrlen, info->ai_family);
        if (fd >= 0 && number == 0)
            number = port_of(fd);
    }
    freeaddrinfo(infos);
    return listener->n > 0 ? number : cw_rpc_address_explain(address, err);
}

static int open_unix(struct cw_listener *listener, const char *address, struct cw_err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", cw_rpc_address_path(address));
    if (bind_one(listener, (const struct sockaddr *)&to, sizeof(to), AF_UNIX) < 0)
        return cw_rpc_address_explain(address, err);
    listener->path = cw_mem_strdup(to.sun_path);
    return 0;
}

int cw_listener_open(struct cw_listener *listener, const char *address, struct cw_tls *tls,
                     struct cw_err *err)
{
    if (cw_rpc_address_is_unix(address))
        return open_unix(listener, address, err);
    int rc = tls ? cw_listener_use_tls(listener, tls, err) : 0;
    return rc == 0 ? open_tcp(listener, address, err) : rc;
}

/* ---- taking connections ---- */

/* The highest descriptor that a connection may have: the system gives out the lowest that is free,
 * so what is above remains for files, and for those who are here already. */
static int highest_fd(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return INT32_MAX;
    rlim_t reserve = CW_MIN(files.rlim_cur / 8, (rlim_t)CW_DESCRIPTORS_RESERVED);
    return (int)CW_MIN(files.rlim_cur - reserve, (rlim_t)INT32_MAX) - 1;
}

bool cw_listener_is_full(const struct cw_listener *listener)
{
    int fd = listener->n > 0 ? fcntl(listener->fds[0], F_DUPFD_CLOEXEC, 0) : 0;
    bool full = fd < 0 || fd > highest_fd();
    if (listener->n > 0 && fd >= 0)
        close(fd);
    return full;
}

static void tell(struct cw_listener *listener, const char *what)
{
    int64_t now = cw_clock_ms();
    if (listener->told_ms > 0 && now - listener->told_ms < TELL_MS)
        return;
    listener->told_ms = now;
    cw_log_warn("rpc", "connections are refused: %s (%llu so far; limit of open files: ulimit -n)",
                what, (unsigned long long)listener->refused);
}

static void note_peer(struct cw_listener *listener, int fd, const struct sockaddr *from,
                      socklen_t n)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    size_t at = (size_t)fd;
    if (at >= listener->peers_n) {
        size_t more = CW_MAX(2 * listener->peers_n, at + 1);
        listener->peers = cw_mem_grow(listener->peers, more, sizeof(*listener->peers));
        for (size_t i = listener->peers_n; i < more; i++)
            listener->peers[i] = NULL;
        listener->peers_n = more;
    }
    char *text;
    if (listener->path)
        text = cw_mem_printf("unix:%s", listener->path);
    else if (getnameinfo(from, n, host, sizeof(host), port, sizeof(port),
                         NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        text = cw_mem_strdup("unknown");
    else if (from->sa_family == AF_INET || strncmp(host, "::ffff:", 7) == 0)
        text = cw_mem_printf("ipv4:%s:%s", from->sa_family == AF_INET ? host : host + 7, port);
    else
        text = cw_mem_printf("ipv6:[%s]:%s", host, port);
    cw_mem_free(listener->peers[at]);
    listener->peers[at] = text;
}

static void give_to_grpc(struct cw_listener *listener, int fd)
{
    int one = 1, unanswered_ms = CW_RPC_UNANSWERED_MS;
    if (!listener->path) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
    }
    listener->taken++;
    if (listener->tls) {
        cw_listener_give_tls(listener, fd);
        return;
    }
    grpc_server_credentials *creds = grpc_insecure_server_credentials_create();
    grpc_server_add_channel_from_fd(listener->server, fd, creds);
    grpc_server_credentials_release(creds);
}

static void stop_polls(struct cw_listener *listener)
{
    for (size_t i = 0; i < listener->n; i++) {
        cw_poll_free(listener->polls[i]);
        listener->polls[i] = NULL;
    }
}

/* Whether the connection is that of this process to itself. The end of a unix socket has no
 * address. */
static bool is_own(const struct cw_listener *listener, int fd, const struct sockaddr_storage *from,
                   socklen_t n)
{
    struct ucred peer = {0};
    socklen_t peer_n = sizeof(peer);
    if (listener->own_n == 0)
        return false;
    if (listener->path)
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_n) == 0 && peer.pid == getpid();
    return n == listener->own_n && memcmp(from, &listener->own, n) == 0;
}

/* Takes one connection. Returns false when there is none, or none can be taken now. */
static bool take_one(struct cw_listener *listener, int from)
{
    struct sockaddr_storage peer = {0};
    socklen_t n = sizeof(peer);
    int fd = accept4(from, (struct sockaddr *)&peer, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
        return true;
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        tell(listener, strerror(errno));
        stop_polls(listener);
        cw_timer_start(listener->again, PAUSE_MS, 0);
    }
    if (fd < 0)
        return false;
    if (fd > highest_fd() && !is_own(listener, fd, &peer, n)) {
        close(fd);
        listener->refused++;
        tell(listener, "too few descriptors are left");
        return true;
    }
    if (!listener->tls) /* gRPC itself knows the peers of the others. */
        note_peer(listener, fd, (const struct sockaddr *)&peer, n);
    give_to_grpc(listener, fd);
    return true;
}

static void on_readable(void *arg)
{
    struct cw_listener *listener = arg;
    for (size_t i = 0; i < listener->n; i++)
        for (int k = 0; k < TAKE_MAX && take_one(listener, listener->fds[i]); k++) {
        }
}

static void start_polls(void *arg)
{
    struct cw_listener *listener = arg;
    struct cw_err err = {0};
    for (size_t i = 0; i < listener->n; i++) {
        listener->polls[i] =
            cw_poll_new(listener->loop, listener->fds[i], on_readable, listener, &err);
        if (!listener->polls[i])
            cw_log_error("rpc", "cannot listen: %s", err.msg);
    }
}

void cw_listener_init(struct cw_listener *listener, struct cw_loop *loop, grpc_server *server)
{
    *listener = (struct cw_listener){.loop = loop, .server = server};
    listener->again = cw_timer_new(loop, start_polls, listener);
}

void cw_listener_start(struct cw_listener *listener)
{
    start_polls(listener);
}

void cw_listener_close(struct cw_listener *listener)
{
    stop_polls(listener);
    cw_timer_stop(listener->again);
    for (size_t i = 0; i < listener->n; i++)
        close(listener->fds[i]);
    if (listener->path)
        (void)unlink(listener->path);
    listener->n = 0;
}

void cw_listener_fini(struct cw_listener *listener)
{
    cw_listener_close(listener);
    cw_timer_free(listener->again);
    for (size_t i = 0; i < listener->peers_n; i++)
        cw_mem_free(listener->peers[i]);
    cw_mem_free(listener->peers);
    cw_mem_free(listener->path);
}

char *cw_listener_peer(const struct cw_listener *listener, grpc_call *call)
{
    char *said = grpc_call_get_peer(call);
    size_t fd = said && strncmp(said, "fd:", 3) == 0 ? strtoul(said + 3, NULL, 10) : SIZE_MAX;
    const char *known = fd < listener->peers_n ? listener->peers[fd] : NULL;
    char *peer = cw_mem_strdup(known ? known : said ? said : "unknown");
    gpr_free(said);
    return peer;
}
