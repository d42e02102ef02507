/* SPDX-License-Identifier: Apache-2.0 */
/* What the network's own files share. A connection has two ends; each belongs to an actor and has
 * a pipe: the pieces that are on their way to the other end, in order. Everything here is in the
 * world's memory. What an end tells its actor is told in that actor's own event. */
#ifndef TESTS_SIMULATION_RPC_NET_INT_H
#define TESTS_SIMULATION_RPC_NET_INT_H

#include "simulation/rpc/net.h"

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#define NET_MS 1000000ll
#define NET_S 1000000000ll
#define NET_G 1000000000ll
#define NET_LOOPBACK "127.0.0.1"

/* Uniform below n. */
static inline uint64_t net_random(uint64_t n)
{
    return sim_below(n);
}

/* ---- messages on their way: bytes that several pieces share ---- */
struct net_bytes {
    size_t refs;
    size_t n;
    uint8_t *p;
};
struct net_bytes *net_bytes_new(size_t n);
struct net_bytes *net_bytes_ref(struct net_bytes *bytes);
struct net_bytes *net_bytes_unref(struct net_bytes *bytes); /* NULL; accepts NULL */

/* ---- pieces ---- */
enum net_kind {
    NET_SETTINGS, /* server to client: the connection stands */
    NET_HEADERS,  /* opens a stream: text is the path; from the server: its initial metadata */
    NET_DATA,     /* a part of a message; with `last` the whole of it is in `bytes` */
    NET_HALF,     /* the client will send no more */
    NET_TRAILERS, /* the server's end: status, text */
    NET_RST,      /* the stream is no more: status, text */
    NET_WINDOW,   /* so many bytes more may be sent */
    NET_GOAWAY,   /* no new streams */
    NET_PING,
    NET_PONG,
    NET_FIN,   /* the end of an orderly connection */
    NET_RESET, /* the connection was cut */
};
struct net_piece {
    struct net_piece *next;
    enum net_kind kind;
    uint32_t stream;
    int status;
    bool last;
    size_t n;                /* of data: bytes of the message in it; of a window: bytes */
    int64_t timeout_ns;      /* of headers: the call's; 0: none */
    int64_t due;             /* arrives then */
    struct net_bytes *bytes; /* of the last part of a message */
    char *text;              /* world's memory; may be NULL */
};
struct net_piece *net_piece_new(enum net_kind kind, uint32_t stream);
void net_piece_set_text(struct net_piece *piece, const char *text);
void net_piece_free(struct net_piece *piece);

/* ---- hosts ---- */
struct net_listener;
struct net_host {
    struct net_host *next;
    uint64_t id; /* 1 and up, in the order in which they came up */
    char name[NET_HOST_BYTES];
    bool down;
    uint16_t next_port, next_listen;
    int64_t busy_until; /* what it has sent so far is on the wire then */
    struct net_listener *listeners;
};
struct net_host *net_host_get(const char *name); /* makes it */
struct net_host *net_host_of(const struct sim_actor *actor);

/* ---- who listens ---- */
struct net_end;
typedef void net_accept_fn(void *arg, struct net_end *end);
struct net_listener {
    struct net_listener *next;
    struct net_host *host;
    struct sim_actor *actor;
    char path[128]; /* of a unix socket; else "" */
    uint16_t port;
    net_accept_fn *accept;
    void *arg;
};
/* Port 0: a free one. NULL: somebody listens there. The function is called in the actor's events. */
struct net_listener *net_listen(const char *path, uint16_t port, net_accept_fn *accept, void *arg);
void net_unlisten(struct net_listener *listener);
void net_unlisten_all(const struct sim_actor *actor);
struct net_listener *net_find_listener(const struct net_host *host, const char *path,
                                       uint16_t port);

/* ---- connections ---- */
struct net_conn;
struct net_end {
    struct net_conn *conn;
    struct net_end *peer;
    struct net_host *host;
    struct sim_actor *actor;
    /* The actor's part, in its memory: told of each piece that arrives. NULL: not there yet, or
     * gone. */
    void *owner;
    void (*on_piece)(void *owner, struct net_piece *piece);
    void (*on_room)(void *owner); /* the pipe has room again */
    bool closed;                  /* this end sends and hears nothing more */
    bool lost;                    /* its host crashed: nobody is there, and nobody says so */
    struct net_piece *head, **tail;
    size_t in_pipe;  /* bytes */
    size_t messages; /* whole ones in the pipe, and ... */
    size_t unread;   /* ... arrived at this end and not taken by its actor */
    int64_t last_due;
    int64_t waits_since; /* what is first has been held up since then; 0: it is not */
    bool armed;          /* an event comes for the pipe's head */
    bool delivering;     /* that event is running */
    bool wants_room, room_told;
    char name[128]; /* "ipv4:127.0.0.1:4000" */
};
struct net_conn {
    struct net_conn *next, **prev;
    struct net_end end[2]; /* [0] the client's */
    char path[128];        /* of a unix socket; else "" */
    uint16_t port;
    size_t events; /* on their way: it is freed after the last */
    bool cut;      /* nothing more is sent on it */
    bool reached;  /* the server's host has it */
    bool accepting;
    size_t window;        /* bytes that fit into a pipe */
    size_t stream_window; /* for gRPC: that may be on their way on one stream */
};
/* Connects the calling actor to the host (NULL: one that nobody has). What comes of it is told
 * by pieces: settings, or a reset. */
struct net_end *net_connect(const char *host, const char *path, uint16_t port, void *owner,
                            void (*on_piece)(void *, struct net_piece *), void (*on_room)(void *));
/* The piece is given away; dropped if the end is closed. */
void net_send(struct net_end *end, struct net_piece *piece);
/* Bytes that the pipe takes now; if none, on_room comes when it takes some again. */
size_t net_room(struct net_end *end);
/* An orderly end from this side: what is in the pipe still arrives. The owner hears nothing
 * more, and lets go of the end. */
void net_close(struct net_end *end);
void net_cut_conn(struct net_conn *conn);
bool net_conn_is_up(const struct net_conn *conn);
struct net_conn *net_first_conn(void);
/* What is to arrive there, or waits there, is tried again. */
void net_retry_all(void);

/* ---- links (net_link.c) ---- */
bool net_is_blocked(const struct net_host *from, const struct net_host *to);
/* When a piece that is sent now is there. */
int64_t net_transit_end(struct net_host *from, const struct net_host *to, size_t bytes);

/* The calling actor uses the network: its death is to be told. */
void net_know_self(void);
void net_on_death(struct sim_actor *actor);
/* Messages that have come to this end and are not taken: so many more, or less. */
void net_unread(struct net_end *end, int64_t more);

/* ---- timers of actors: may be stopped ---- */
struct net_timer;
struct net_timer *net_timer_start(int64_t delay_ns, void (*fn)(void *), void *arg);
void net_timer_stop(struct net_timer *timer); /* accepts NULL; not after it has fired */

/* ---- counting (net_count.c) ---- */
struct net_counter;
struct net_counter *net_counter_of(const char *method, bool to_server);
void net_counter_add(struct net_counter *counter, size_t bytes);

/* ---- the state of it all, one in each world ---- */
#define NET_BUCKETS 1024
struct net_rule;
struct net_known;
struct net {
    uint64_t seed; /* of the links */
    struct net_host *hosts[NET_BUCKETS];
    size_t hosts_n;
    struct net_known *known[NET_BUCKETS]; /* actors whose end is watched */
    struct net_rule *rules;
    struct net_conn *conns, **conns_tail;
    struct net_counter *counters;
};
struct net *net_state(void);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
