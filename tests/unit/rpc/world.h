/* SPDX-License-Identifier: Apache-2.0 */
/* A loop, an environment, a server with some methods, and a channel to it, all in this process
 * and thread. Every callback of a test ends with world_poke, so that world_wait sees what
 * changed. */
#ifndef TESTS_UNIT_RPC_WORLD_H
#define TESTS_UNIT_RPC_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/rpc.h"

struct world {
    struct cw_loop *loop;
    struct cw_rpc *rpc;
    struct cw_server *server;
    struct cw_channel *channel;
    char address[256];
    struct cw_timer *guard;
    struct cw_call *held;    /* of /test.T/Hold, to be answered by the test */
    bool too_late;           /* Hold fails from now on */
    struct cw_stream *quiet; /* of /test.T/Quiet: accepted and paused */
    int quiet_code;
    bool quiet_closed;
    size_t quiet_messages;
    bool stopped;
    cw_gate_fn *gate; /* of servers that are made from now on; NULL: none */
};

/* address: where the server listens. */
void world_open(struct world *world, const char *address);
void world_open_tls(struct world *world, const char *address, const struct cw_tls_options *tls);
void world_serve(struct world *world, const char *address);    /* again, when it was stopped */
void world_stop_server(struct world *world, int64_t grace_ms); /* does not wait: see stopped */
/* Another server on the address, and stops it: what cw_server_listen says. */
int world_listen(struct world *world, const char *address, struct cw_err *err);
void world_close(struct world *world);
void world_poke(struct world *world);
void world_wait(struct world *world, const bool *flag); /* the test fails after a minute */

/* The result of a unary call. */
struct result {
    struct world *world;
    bool done;
    int code;
    char msg[512];
    struct cw_buf *reply;
};
void result_of(void *arg, struct cw_rpc_msg *reply, int code, const char *msg);
/* Calls and waits. */
void world_call(struct world *world, const char *method, const void *p, size_t n,
                int64_t timeout_ms, struct result *ret);
void result_fini(struct result *result);

/* What came on a stream. */
struct inbox {
    struct world *world;
    struct cw_stream *stream;
    size_t n, bytes;
    struct cw_buf *last;
    size_t lows;
    bool got, closed; /* got: a message since it was set to false */
    int code;
    char msg[512];
};
extern const struct cw_stream_cb inbox_cb;
void inbox_fini(struct inbox *inbox); /* frees the stream */
void inbox_wait_n(struct inbox *inbox, size_t n);
struct cw_buf *pattern_buf(size_t n, unsigned seed);

#endif
