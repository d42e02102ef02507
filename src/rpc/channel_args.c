/* SPDX-License-Identifier: Apache-2.0 */
/* Channel arguments. Keepalive: a server must allow pings more often than clients send them, or it
 * ends live connections ("too_many_pings"); so the two tables stand here side by side. Everything
 * that would tune throughput keeps its default, since no other value was measured to be faster. */
#include "base/limits.h"
#include "rpc/rpc_int.h"

#define KEEPALIVE_MS 30000 /* idle time after which the peer is asked with a ping */
/* shortest time between pings that a server allows; well below KEEPALIVE_MS */
#define PING_ALLOWED_MS 15000
/* limit for a peer that accepts the connection and then says nothing: the next address of its name is
 * tried then, within the time that a call waits */
#define CONNECT_TIMEOUT_MS 3000
/* shortest time between two questions for the addresses of a name, of which none answered */
#define RESOLVE_AGAIN_MS 5000

/* grpc_arg has char * for strings that it only reads. */
static char *key_of(const char *key)
{
    return (char *)(uintptr_t)key;
}

static void add(struct cw_rpc_args *args, const char *key, int value)
{
    CW_ASSERT(args->args.num_args < CW_RPC_ARGS_MAX);
    grpc_arg *arg = &args->v[args->args.num_args++];
    arg->type = GRPC_ARG_INTEGER;
    arg->key = key_of(key);
    arg->value.integer = value;
}

static void init(struct cw_rpc_args *args, bool small)
{
    *args = (struct cw_rpc_args){0};
    args->args.args = args->v;
    if (small)
        add(args, GRPC_ARG_HTTP2_BDP_PROBE, 0);
    add(args, GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS);
    add(args, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, CW_RPC_UNANSWERED_MS);
    add(args, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    add(args, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

void cw_rpc_args_client(struct cw_rpc_args *args, bool small)
{
    init(args, small);
    add(args, GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, (int)CW_RPC_CONTROL_MAX);
    add(args, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)CW_RPC_DATA_MAX);
    add(args, GRPC_ARG_ENABLE_RETRIES, 0);
    /* Each channel has its own connection, so that the data of one pair of peers do not wait behind
     * those of another. */
    add(args, GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    add(args, GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    add(args, GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    add(args, GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    /* In spite of its name this argument limits the connection attempt, not the pause after it. */
    add(args, GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_TIMEOUT_MS);
    add(args, GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, RESOLVE_AGAIN_MS);
}

/* Arguments are copied as they are: the pointer is the caller's. */
static void *on_copy(void *p)
{
    return p;
}

static void on_destroy(void *p)
{
    (void)p;
}

static int on_compare(void *a, void *b)
{
    return a < b ? -1 : a > b;
}

void cw_rpc_args_server(struct cw_rpc_args *args, bool small, size_t received_max, void **acceptor)
{
    static const grpc_arg_pointer_vtable as_it_is = {on_copy, on_destroy, on_compare};
    init(args, small);
    args->v[args->args.num_args++] =
        (grpc_arg){.type = GRPC_ARG_POINTER,
                   .key = key_of(CW_RPC_ACCEPTOR),
                   .value.pointer = {.p = (void *)acceptor, .vtable = &as_it_is}};
    add(args, GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, CW_RPC_UNANSWERED_MS);
    add(args, GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, (int)CW_RPC_DATA_MAX);
    add(args, GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
        (int)(received_max > 0 ? received_max : CW_RPC_CONTROL_MAX));
    add(args, GRPC_ARG_MAX_METADATA_SIZE, CW_METADATA_MAX);
    add(args, GRPC_ARG_MAX_CONCURRENT_STREAMS, CW_CONNECTION_CALLS_MAX);
    add(args, GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, PING_ALLOWED_MS);
    /* A second server on the same port is an error, and does not share the port. */
    add(args, GRPC_ARG_ALLOW_REUSEPORT, 0);
}
