/* SPDX-License-Identifier: Apache-2.0 */
/* The server object, shared by server.c (methods, dispatching, stopping), server_ref.c (counting,
 * freeing) and the services that a server has of its own (health.c, reflect.c). */
#ifndef CW_RPC_SERVER_INT_H
#define CW_RPC_SERVER_INT_H

#include "base/map.h"
#include "rpc/door.h"
#include "rpc/listen.h"
#include "rpc/rpc_int.h"

/* The number of requests for a call that are posted with gRPC. When more calls arrive at once, the
 * rest wait for the next loop iteration. */
#define CW_SERVER_INCOMING 16

struct cw_incoming {
    struct cw_rpc_op op;
    struct cw_server *server;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array md;
};

/* Memory of one service, which the server stops and frees together with itself. */
struct cw_server_part {
    /* called when the server begins to stop; may be NULL */
    void (*stop)(struct cw_server_part *part);
    void (*destroy)(struct cw_server_part *part); /* called when no call is open any more */
    struct cw_server_part *next;
};

struct cw_probe;        /* probe.c */
struct cw_waiting_call; /* gate_server.c */

struct cw_server {
    struct cw_rpc *rpc;
    grpc_server *server;
    struct cw_method *methods; /* the server owns their paths */
    struct cw_method_stat {
        size_t request_max; /* the largest request, in bytes; of unary methods */
        int64_t longest_ns; /* CPU time of the loop's thread for the message that took the most */
        uint64_t long_n;    /* messages that took more than CW_MESSAGE_LONG_NS of it */
        uint64_t messages;
    } * times; /* one for each method */
    size_t methods_n, methods_cap;
    struct cw_strmap by_path; /* maps paths to methods; filled when the server starts */
    struct cw_server_part *parts;
    cw_gate_fn *gate; /* NULL: all calls pass */
    void *gate_arg;
    struct cw_waiting_call *waiting; /* for the gate, in no order */
    size_t waiting_n;
    struct cw_health *health; /* belongs to the health service; NULL: the server has none */
    struct cw_incoming incoming[CW_SERVER_INCOMING];
    size_t posted; /* how many of the requests gRPC has now */
    size_t calls;  /* number of open calls and streams */
    struct cw_listener listener;
    struct cw_probe *probe; /* asks the own port; NULL: nobody does */
    struct cw_door door;
    size_t queue_max; /* the most bytes that may wait for a peer; 0: no limit */
    bool started, stopping, shut;
    struct cw_rpc_op shut_op;
    struct cw_timer *grace;
    cw_loop_fn *stopped;
    void *arg;
};

/* ---- server_ref.c ---- */
/* Frees the server and calls `stopped` if it has shut down and nothing is left of it. */
void cw_server_free_if_stopped(struct cw_server *server);

size_t cw_server_method_index(const struct cw_server *server, const struct cw_method *method);
/* A message of the method took so much CPU time of the loop's thread. */
void cw_server_note_time(struct cw_server *server, size_t method, int64_t ns);
/* Work for a message that was counted before took so much. */
void cw_server_note_later(struct cw_server *server, size_t method, int64_t ns);

/* ---- server.c ---- */
void cw_server_add_part(struct cw_server *server, struct cw_server_part *part);
/* Iterates over the names of the services that methods were added for, in the order in which they
 * were added: start with *i = 0 and stop when it returns false. */
bool cw_server_next_service(const struct cw_server *server, size_t *i, char *ret_name, size_t cap);
bool cw_server_has_service(const struct cw_server *server, const char *name);

/* ---- health.c ---- */
bool cw_server_is_serving(const struct cw_server *server);

#endif
