/* SPDX-License-Identifier: Apache-2.0 */
/* Listening, and taking connections. gRPC's own listener is closed for ever when descriptors run out
 * once. Here connections are refused before that, and are taken again when there is room. gRPC gets
 * each connection as a descriptor. Loop thread. */
#ifndef CW_RPC_LISTEN_H
#define CW_RPC_LISTEN_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "loop/loop.h"

#define CW_LISTEN_SOCKETS_MAX 8 /* A name may stand for several addresses. */

struct cw_tls;
struct cw_listener {
    struct cw_loop *loop;
    grpc_server *server;
    struct cw_timer *again; /* It polls again, after the system had no descriptor left. */
    int fds[CW_LISTEN_SOCKETS_MAX];
    struct cw_poll *polls[CW_LISTEN_SOCKETS_MAX];
    size_t n;
    bool tls;         /* Connections speak TLS. */
    void *acceptor;   /* what takes them then (listen_tls.c) */
    char *path;       /* of a unix socket; otherwise NULL */
    uint64_t taken;   /* connections, since the server was made */
    uint64_t refused; /* connections that were closed because descriptors ran short */
    int64_t told_ms;  /* when that was logged last; 0: never */
    /* Where the connection of each descriptor comes from, as gRPC writes addresses; NULL: unknown. */
    char **peers;
    size_t peers_n;
    /* Where a connection of this process to itself comes from, which is taken also when others are
     * refused (probe.c); own_n 0: there is none. */
    struct sockaddr_storage own;
    socklen_t own_n;
};

void cw_listener_init(struct cw_listener *listener, struct cw_loop *loop, grpc_server *server);
/* Binds and listens; nothing is taken before cw_listener_start. tls: of connections that are not of a
 * unix socket; NULL: none. Returns the port (0 for a unix socket) or a negative code. */
int cw_listener_open(struct cw_listener *listener, const char *address, struct cw_tls *tls,
                     struct cw_err *err);
void cw_listener_start(struct cw_listener *listener);
/* Takes no more connections. Those that are open stay. */
void cw_listener_close(struct cw_listener *listener);
void cw_listener_fini(struct cw_listener *listener);
/* listen_tls.c: connections speak TLS from now on; gives one to gRPC. */
int cw_listener_use_tls(struct cw_listener *listener, struct cw_tls *tls, struct cw_err *err);
void cw_listener_give_tls(struct cw_listener *listener, int fd);
/* Returns whether connections are refused now, because descriptors have run short. */
bool cw_listener_is_full(const struct cw_listener *listener);
/* Returns the address of a call's peer; the caller frees it. */
char *cw_listener_peer(const struct cw_listener *listener, grpc_call *call) CW_MUST_CHECK;

#endif
