/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: connecting when a call wants it, and again after pauses that grow. As in gRPC, a call
 * waits while the first attempt goes on, and fails at once while a failed one is repeated. */
#include "simulation/rpc/grpc_int.h"

#include <grpc/slice.h>
#include <string.h>

struct grpc_channel {
    enum { CHANNEL_IDLE, CHANNEL_CONNECTING, CHANNEL_READY, CHANNEL_FAILED } state;
    struct settings settings;
    grpc_channel_credentials *creds; /* NULL: it is lame */
    char *address;
    char *host, *path; /* host NULL: this one */
    uint16_t port;
    size_t refs;
    int lame; /* what every call ends with; 0: it is not */
    char *error;
    struct transport *transport; /* NULL: none */
    grpc_call *waiting, **waiting_tail;
    int64_t backoff_ns, began_at;
    struct net_timer *retry, *timeout;
};

static void connect_now(grpc_channel *channel);

static grpc_channel *channel_new(const char *target)
{
    grpc_channel *channel = CW_NEW(grpc_channel);
    bool has_scheme = strncmp(target, "dns:///", 7) == 0;
    channel->address = cw_mem_strdup(has_scheme ? target + 7 : target);
    channel->refs = 1;
    channel->waiting_tail = &channel->waiting;
    return channel;
}

grpc_channel *grpc_channel_create(const char *target, grpc_channel_credentials *creds,
                                  const grpc_channel_args *args)
{
    char host[NET_HOST_BYTES], path[128];
    grpc_channel *channel = channel_new(target);
    channel->creds = creds_ref(creds);
    settings_read(&channel->settings, args);
    channel->backoff_ns = channel->settings.backoff_ns;
    if (address_split(channel->address, host, sizeof host, path, sizeof path, &channel->port)) {
        channel->host = host[0] ? cw_mem_strdup(host) : NULL;
        channel->path = cw_mem_strdup(path);
    } else {
        channel->lame = GRPC_STATUS_UNAVAILABLE;
        channel->error = cw_mem_printf("DNS resolution failed for %s", channel->address);
    }
    return channel;
}

const grpc_channel_credentials *channel_creds(const grpc_channel *channel)
{
    return channel->creds;
}

grpc_channel *grpc_lame_client_channel_create(const char *target, grpc_status_code error_code,
                                              const char *error_message)
{
    grpc_channel *channel = channel_new(target);
    channel->lame = (int)error_code;
    channel->error = cw_mem_strdup(error_message);
    return channel;
}

grpc_call *grpc_channel_create_call(grpc_channel *channel, grpc_call *parent_call,
                                    uint32_t propagation_mask,
                                    grpc_completion_queue *completion_queue, grpc_slice method,
                                    const grpc_slice *host, gpr_timespec deadline, void *reserved)
{
    (void)parent_call;
    (void)propagation_mask;
    (void)host;
    (void)reserved;
    cw_autofree char *path = grpc_slice_to_c_string(method);
    channel->refs++;
    return call_new_client(channel, completion_queue, path, deadline, &channel->settings);
}

/* ---- calls that wait ---- */

void channel_want(grpc_channel *channel, grpc_call *call)
{
    if (call->waiting || call->transport)
        return;
    if (channel->lame) {
        call_fail(call, channel->lame, channel->error);
    } else if (channel->state == CHANNEL_READY) {
        call_begin(call, channel->transport);
    } else if (channel->state == CHANNEL_FAILED) {
        call_fail(call, GRPC_STATUS_UNAVAILABLE, channel->error);
    } else {
        call->waiting = true;
        call->next = NULL;
        call->prev = channel->waiting_tail;
        *channel->waiting_tail = call;
        channel->waiting_tail = &call->next;
        if (channel->state == CHANNEL_IDLE)
            connect_now(channel);
    }
}

void channel_unwant(grpc_call *call)
{
    if (!call->waiting)
        return;
    call->waiting = false;
    *call->prev = call->next;
    if (call->next)
        call->next->prev = call->prev;
    else
        call->channel->waiting_tail = call->prev;
}

/* ---- connecting ---- */

static void stop_timers(grpc_channel *channel)
{
    net_timer_stop(channel->retry);
    net_timer_stop(channel->timeout);
    channel->retry = channel->timeout = NULL;
}

static void on_timeout(void *arg)
{
    grpc_channel *channel = arg;
    channel->timeout = NULL;
    transport_close(channel->transport, "connection attempt timed out");
}

static void connect_now(grpc_channel *channel)
{
    if (channel->state == CHANNEL_IDLE)
        channel->state = CHANNEL_CONNECTING;
    stop_timers(channel);
    channel->began_at = sim_now_ns();
    channel->transport =
        transport_client(channel, &channel->settings, channel->host, channel->path, channel->port);
    channel->timeout = net_timer_start(channel->settings.connect_timeout_ns, on_timeout, channel);
}

void channel_is_ready(grpc_channel *channel)
{
    stop_timers(channel);
    channel->state = CHANNEL_READY;
    channel->backoff_ns = channel->settings.backoff_ns;
    while (channel->waiting) {
        grpc_call *call = channel->waiting;
        channel_unwant(call);
        call_begin(call, channel->transport);
    }
}

static void on_retry(void *arg)
{
    grpc_channel *channel = arg;
    channel->retry = NULL;
    connect_now(channel);
}

static void start_retry(grpc_channel *channel)
{
    int64_t pause = channel->backoff_ns;
    pause += (int64_t)net_random((uint64_t)pause / 5 + 1) - pause / 10;
    int64_t left = channel->began_at + pause - sim_now_ns();
    channel->retry = net_timer_start(CW_MAX(left, 0), on_retry, channel);
    channel->backoff_ns = CW_MIN(channel->backoff_ns * 16 / 10, channel->settings.backoff_max_ns);
}

static void attempt_failed(grpc_channel *channel, const char *why)
{
    cw_mem_free(channel->error);
    channel->error = cw_mem_printf(
        "failed to connect to all addresses; last error: UNKNOWN: %s: Failed to connect to remote "
        "host: %s",
        channel->address, why);
    channel->state = CHANNEL_FAILED;
    start_retry(channel);
    while (channel->waiting)
        call_fail(channel->waiting, GRPC_STATUS_UNAVAILABLE, channel->error);
}

/* The end of a connection that stood is no failure: the next call makes another one. */
void channel_lost(grpc_channel *channel, struct transport *transport, const char *why)
{
    if (channel->transport != transport)
        return;
    channel->transport = NULL;
    stop_timers(channel);
    if (channel->state == CHANNEL_READY)
        channel->state = CHANNEL_IDLE;
    else
        attempt_failed(channel, why);
}

void grpc_channel_reset_connect_backoff(grpc_channel *channel)
{
    channel->backoff_ns = channel->settings.backoff_ns;
    if (channel->retry)
        connect_now(channel);
}

/* ---- the end ---- */

void channel_unref(grpc_channel *channel)
{
    if (--channel->refs > 0)
        return;
    CW_ASSERT(!channel->waiting);
    stop_timers(channel);
    struct transport *transport = channel->transport;
    channel->transport = NULL;
    if (transport) {
        transport->channel = NULL;
        transport_drain(transport);
    }
    if (channel->creds)
        grpc_channel_credentials_release(channel->creds);
    cw_mem_free(channel->address);
    cw_mem_free(channel->host);
    cw_mem_free(channel->path);
    cw_mem_free(channel->error);
    cw_mem_free(channel);
}

void grpc_channel_destroy(grpc_channel *channel)
{
    channel_unref(channel);
}
