/* SPDX-License-Identifier: Apache-2.0 */
/* The client side: channels, and unary calls on them. Closing a channel drops its owner's reference
 * and cancels its unary calls, whose callbacks are then not called. */
#include <grpc/grpc_security.h>

#include "base/mem.h"
#include "rpc/channel_int.h"
#include "rpc/relay.h"
#include "rpc/tls.h"

struct unary {
    struct cw_rpc_op op;
    struct cw_channel *channel;
    struct unary *next, **prev; /* neighbours in the list of the channel's open calls */
    grpc_call *call;
    char *method;
    cw_unary_fn *fn; /* NULL: the owner does not want the reply any more */
    void *arg;
    grpc_byte_buffer *request, *reply;
    grpc_metadata_array initial_md, trailing_md;
    grpc_status_code status;
    grpc_slice details;
    gpr_timespec deadline;
    struct cw_buf *message; /* the request, for a second attempt: gRPC empties `request` */
    struct cw_shown_token token_shown;
};

/* Returns gRPC's target for an address: "unix:/path" is unchanged, anything else is a name or
 * number for the resolver. */
static char *target_of(const char *address)
{
    if (cw_rpc_address_is_unix(address))
        return cw_mem_strdup(address);
    return cw_mem_printf("dns:///%s", address);
}

/* Makes gRPC's channel, with the certificate that counts now. */
static void make(struct cw_channel *channel)
{
    struct cw_rpc *rpc = channel->rpc;
    struct cw_rpc_args args;
    cw_autofree char *target = target_of(channel->address);
    bool tls = rpc->tls && !cw_rpc_address_is_unix(channel->address);
    cw_rpc_args_client(&args, rpc->small);
    grpc_channel_credentials *creds =
        tls ? cw_tls_channel_creds(rpc->tls, channel->role) : grpc_insecure_credentials_create();
    channel->tls_generation = tls ? rpc->tls->generation : 0;
    channel->channel = grpc_channel_create(target, creds, &args.args);
    grpc_channel_credentials_release(creds);
}

/* Finds out whether calls can be made at all. */
static int check(struct cw_channel *channel)
{
    const struct cw_err *tls_bad = &channel->rpc->tls_bad;
    if (cw_rpc_address_check(channel->address, &channel->bad) == 0 && tls_bad->code != 0 &&
        !cw_rpc_address_is_unix(channel->address))
        channel->bad = *tls_bad;
    return channel->bad.code;
}

struct cw_channel *cw_channel_open_to(struct cw_rpc *rpc, const char *address, enum cw_role role)
{
    struct cw_channel *channel = CW_NEW(struct cw_channel);
    channel->rpc = rpc;
    channel->address = cw_mem_strdup(address);
    channel->refs = 1;
    channel->role = role;
    rpc->objects++;
    if (rpc->relay) {
        channel->relayed = cw_relay_channel(rpc->relay, address, role);
        return channel;
    }
    cw_autofree char *target = target_of(address);
    if (check(channel) != 0)
        channel->channel =
            grpc_lame_client_channel_create(target, GRPC_STATUS_INVALID_ARGUMENT, channel->bad.msg);
    else
        make(channel);
    return channel;
}

struct cw_channel *cw_channel_open(struct cw_rpc *rpc, const char *address)
{
    return cw_channel_open_to(rpc, address, CW_ROLE_DISPATCHER);
}

/* A new certificate is for connections that are made from now on: calls that are under way keep theirs
 * alive. */
static void renew(struct cw_channel *channel)
{
    grpc_channel *before = channel->channel;
    if (channel->tls_generation == 0 || channel->tls_generation == channel->rpc->tls->generation)
        return;
    make(channel);
    grpc_channel_destroy(before);
}

void cw_channel_close(struct cw_channel *channel)
{
    if (!channel)
        return;
    if (channel->relayed)
        cw_relay_channel_close(channel->rpc->relay, channel->relayed);
    for (struct unary *unary = channel->unaries; unary; unary = unary->next) {
        unary->fn = NULL;
        grpc_call_cancel(unary->call, NULL);
    }
    channel->rpc->objects--;
    cw_channel_unref(channel);
}

static grpc_call *new_call(struct cw_channel *channel, const char *method, gpr_timespec deadline)
{
    grpc_slice path = grpc_slice_from_copied_string(method);
    renew(channel);
    /* Callers pause between attempts themselves. gRPC's own pauses are ended: they are timed by the
     * wall clock, and would last for hours after that was set back. */
    if (channel->bad.code == 0)
        grpc_channel_reset_connect_backoff(channel->channel);
    grpc_call *call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                               channel->rpc->queue, path, NULL, deadline, NULL);
    grpc_slice_unref(path);
    return call;
}

struct cw_stream *cw_channel_stream(struct cw_channel *channel, const char *method,
                                    const struct cw_stream_cb *cb, void *arg)
{
    if (channel->relayed)
        return cw_stream_new_relayed(channel, channel->relayed, method, cb, arg);
    grpc_call *call = new_call(channel, method, gpr_inf_future(GPR_CLOCK_MONOTONIC));
    return cw_stream_new_client(channel, call, method, cb, arg);
}

/* ---- unary ---- */

static void unary_free(struct unary *unary)
{
    *unary->prev = unary->next;
    if (unary->next)
        unary->next->prev = unary->prev;
    grpc_metadata_array_destroy(&unary->initial_md);
    grpc_metadata_array_destroy(&unary->trailing_md);
    grpc_slice_unref(unary->details);
    if (unary->request)
        grpc_byte_buffer_destroy(unary->request);
    if (unary->reply)
        grpc_byte_buffer_destroy(unary->reply);
    cw_shown_token_fini(&unary->token_shown);
    cw_buf_unref(unary->message);
    grpc_call_unref(unary->call);
    cw_channel_unref(unary->channel);
    cw_mem_free(unary->method);
    cw_mem_free(unary);
}

static bool unary_start(struct unary *unary);

/* Makes the call again, to a server that has asked for the token. */
static bool show_token(struct unary *unary)
{
    size_t bytes;
    if (!cw_channel_note_asked(unary->channel, &unary->token_shown, unary->status) || !unary->fn)
        return false;
    (void)cw_channel_was_asked(unary->channel); /* that is about streams */
    grpc_metadata_array_destroy(&unary->initial_md);
    grpc_metadata_array_destroy(&unary->trailing_md);
    grpc_slice_unref(unary->details);
    grpc_call_unref(unary->call);
    grpc_metadata_array_init(&unary->initial_md);
    grpc_metadata_array_init(&unary->trailing_md);
    unary->details = grpc_empty_slice();
    grpc_byte_buffer_destroy(unary->request);
    unary->request = cw_rpc_buffer_new(&unary->message, 1, &bytes);
    unary->call = new_call(unary->channel, unary->method, unary->deadline);
    cw_shown_token_fini(&unary->token_shown);
    bool started = unary_start(unary);
    CW_ASSERT(started);
    return true;
}

static void on_unary(struct cw_rpc_op *op, bool ok)
{
    (void)ok; /* it is always true: the status says everything */
    struct unary *unary = CW_CONTAINER_OF(op, struct unary, op);
    if (show_token(unary))
        return;
    char text[CW_RPC_STATUS_MSG_BYTES];
    int code = cw_channel_status(unary->channel, unary->status, unary->details, unary->method, text,
                                 sizeof text);
    if (unary->fn && code == 0 && unary->reply) {
        struct cw_rpc_msg *reply = cw_rpc_msg_new(unary->reply);
        unary->reply = NULL;
        unary->fn(unary->arg, reply, 0, "");
        cw_rpc_msg_unref(reply);
    } else if (unary->fn) {
        unary->fn(unary->arg, NULL, code ? code : CW_E_INTERNAL,
                  code ? text : "the reply is missing");
    }
    unary_free(unary);
}

static struct unary *unary_new(struct cw_channel *channel, const char *method, int64_t timeout_ms)
{
    struct unary *unary = CW_NEW(struct unary);
    unary->deadline =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));
    cw_rpc_op_init(&unary->op, channel->rpc, on_unary);
    unary->channel = channel;
    cw_channel_ref(channel);
    unary->next = channel->unaries;
    unary->prev = &channel->unaries;
    if (unary->next)
        unary->next->prev = &unary->next;
    channel->unaries = unary;
    unary->call = new_call(channel, method, unary->deadline);
    unary->method = cw_mem_strdup(method);
    unary->details = grpc_empty_slice();
    grpc_metadata_array_init(&unary->initial_md);
    grpc_metadata_array_init(&unary->trailing_md);
    return unary;
}

static bool unary_start(struct unary *unary)
{
    grpc_op ops[6] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},  {.op = GRPC_OP_SEND_MESSAGE},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT}, {.op = GRPC_OP_RECV_INITIAL_METADATA},
        {.op = GRPC_OP_RECV_MESSAGE},           {.op = GRPC_OP_RECV_STATUS_ON_CLIENT}};
    cw_shown_token_init(&unary->token_shown, unary->channel);
    ops[0].data.send_initial_metadata.count = unary->token_shown.n;
    ops[0].data.send_initial_metadata.metadata = &unary->token_shown.entry;
    ops[1].data.send_message.send_message = unary->request;
    ops[3].data.recv_initial_metadata.recv_initial_metadata = &unary->initial_md;
    ops[4].data.recv_message.recv_message = &unary->reply;
    ops[5].data.recv_status_on_client.status = &unary->status;
    ops[5].data.recv_status_on_client.status_details = &unary->details;
    ops[5].data.recv_status_on_client.trailing_metadata = &unary->trailing_md;
    return cw_rpc_op_start(&unary->op, unary->call, ops, CW_ARRAY_LEN(ops));
}

void cw_channel_unary(struct cw_channel *channel, const char *method, struct cw_buf *request,
                      int64_t timeout_ms, cw_unary_fn *fn, void *arg)
{
    if (channel->relayed) {
        cw_relay_unary(channel->rpc->relay, channel->relayed, method, request, timeout_ms, fn, arg);
        return;
    }
    struct unary *unary = unary_new(channel, method, timeout_ms);
    unary->fn = fn;
    unary->arg = arg;
    size_t bytes;
    unary->message = cw_buf_ref(request);
    unary->request = cw_rpc_buffer_new(&request, 1, &bytes);
    bool started = unary_start(unary);
    CW_ASSERT(started);
}
