/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: the operations that are started on them, what they send, and how they end. */
#include "simulation/rpc/grpc_int.h"

#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <string.h>

/* ---- the end ---- */

static void tell_status(grpc_call *call)
{
    if (call->status_to) {
        *call->status_to = (grpc_status_code)call->code;
        *call->details_to = grpc_slice_from_copied_string(call->text ? call->text : "");
        call->status_to = NULL;
    } else {
        *call->cancelled_to = call->failed;
    }
    batch_done(&call->status, true);
}

/* What has come before a good end is read before the end is told. */
void call_maybe_end(grpc_call *call)
{
    if (call->over && !call->unread && call->status)
        tell_status(call);
}

static void settle(grpc_call *call)
{
    call->read_end = true;
    receive_try(call);
    batch_done(&call->meta_in, true);
    batch_done(&call->meta_out, false);
    call->out = net_bytes_unref(call->out);
    batch_done(&call->send, false);
    batch_done(&call->half, false);
    batch_done(&call->trailers, false);
    call_maybe_end(call);
}

static void end_with(grpc_call *call, int status, const char *text)
{
    call->over = true;
    call->code = status;
    cw_mem_free(call->text);
    call->text = cw_mem_strdup(text);
    net_timer_stop(call->deadline);
    call->deadline = NULL;
    transport_remove(call);
    channel_unwant(call);
}

static void call_free(grpc_call *call)
{
    net_timer_stop(call->deadline);
    receive_drop(call);
    net_bytes_unref(call->out);
    if (call->channel)
        channel_unref(call->channel);
    cw_mem_free(call->path);
    cw_mem_free(call->shown);
    cw_mem_free(call->cert);
    cw_mem_free(call->peer);
    cw_mem_free(call->text);
    cw_mem_free(call->trailers_text);
    cw_mem_free(call);
}

void call_fail(grpc_call *call, int status, const char *text)
{
    call->failed |= !call->over;
    if (!call->over)
        end_with(call, status, text);
    receive_drop(call);
    settle(call);
    if (call->server && !call->queue) {
        server_forget(call->server, call);
        call_free(call);
    }
}

void call_give_up(grpc_call *call, int status, const char *text)
{
    if (!call->over && call->transport && call->server)
        transport_send(call->transport, NET_TRAILERS, call, status, text);
    else if (!call->over && call->transport && call->begun)
        transport_send(call->transport, NET_RST, call, status, text);
    call_fail(call, status, text);
}

grpc_call_error grpc_call_cancel(grpc_call *call, void *reserved)
{
    (void)reserved;
    call_give_up(call, GRPC_STATUS_CANCELLED, "CANCELLED");
    return GRPC_CALL_OK;
}

grpc_call_error grpc_call_cancel_with_status(grpc_call *call, grpc_status_code status,
                                             const char *description, void *reserved)
{
    (void)reserved;
    call_give_up(call, status, description);
    return GRPC_CALL_OK;
}

static void on_deadline(void *arg)
{
    grpc_call *call = arg;
    call->deadline = NULL;
    call_give_up(call, GRPC_STATUS_DEADLINE_EXCEEDED, "Deadline Exceeded");
}

static void start_deadline(grpc_call *call)
{
    if (call->timeout_ns > 0)
        call->deadline = net_timer_start(call->timeout_ns, on_deadline, call);
}

/* ---- making ---- */

static grpc_call *call_new(const char *path, int64_t timeout_ns)
{
    grpc_call *call = CW_NEW(grpc_call);
    call->path = cw_mem_strdup(path);
    call->unread_tail = &call->unread;
    call->timeout_ns = timeout_ns;
    return call;
}

grpc_call *call_new_client(grpc_channel *channel, grpc_completion_queue *queue, const char *path,
                           gpr_timespec deadline, const struct settings *settings)
{
    int64_t timeout = 0;
    if (deadline.tv_sec != INT64_MAX) {
        timeout = deadline.tv_sec * NET_S + deadline.tv_nsec - sim_now_ns();
        timeout = CW_MAX(timeout, 1);
    }
    grpc_call *call = call_new(path, timeout);
    call->channel = channel;
    call->queue = queue;
    call->settings = settings;
    call->sends = net_counter_of(path, true);
    start_deadline(call);
    return call;
}

grpc_call *call_new_server(struct transport *transport, const struct net_piece *headers)
{
    cw_autofree char *path = cw_mem_strdup(headers->text);
    char *shown = strchr(path, '\n');
    if (shown)
        *shown++ = '\0';
    char *cert = shown ? strchr(shown, '\n') : NULL;
    if (cert)
        *cert++ = '\0';
    grpc_call *call = call_new(path, headers->timeout_ns);
    call->shown = shown && shown[0] ? cw_mem_strdup(shown) : NULL;
    call->cert = cw_mem_strdup(cert);
    call->cert_n = cert ? strlen(cert) + 1 : 0;
    call->server = transport->server;
    call->settings = transport->settings;
    call->stream = headers->stream;
    call->sends = net_counter_of(path, false);
    call->peer = cw_mem_strdup(transport->peer);
    call->begun = true;
    transport_add(transport, call);
    start_deadline(call);
    return call;
}

void call_bind(grpc_call *call, grpc_completion_queue *queue)
{
    call->queue = queue;
}

char *grpc_call_get_peer(grpc_call *call)
{
    return cw_mem_strdup(call->peer ? call->peer : "unknown");
}

void grpc_call_unref(grpc_call *call)
{
    if (!call->over)
        call_give_up(call, GRPC_STATUS_CANCELLED, "CANCELLED");
    call_free(call);
}

/* ---- sending ---- */

void call_begin(grpc_call *call, struct transport *transport)
{
    transport_add(transport, call);
    call->stream = transport->next_stream;
    transport->next_stream += 2;
    call->begun = true;
    cw_mem_free(call->peer);
    call->peer = cw_mem_strdup(transport->peer);
    struct net_piece *piece = net_piece_new(NET_HEADERS, call->stream);
    const char *cert = creds_cert(channel_creds(call->channel)),
               *shown = call->shown ? call->shown : "";
    cw_autofree char *text =
        cw_mem_printf("%s%s%s%s%s", call->path, call->shown || cert ? "\n" : "", shown,
                      cert ? "\n" : "", cert ? cert : "");
    net_piece_set_text(piece, text);
    piece->timeout_ns = call->timeout_ns;
    net_send(transport->end, piece);
    batch_done(&call->meta_out, true);
    call_pump(call);
}

/* One part of the message; false: there is no room now. */
static bool send_part(grpc_call *call)
{
    struct transport *transport = call->transport;
    if (call->in_flight >= transport->window)
        return false;
    size_t room = net_room(transport->end);
    if (room == 0)
        return false;
    size_t left = call->out->n - call->out_at;
    size_t most = CW_MIN(CW_MIN(room, transport->window - call->in_flight), transport->piece_max);
    struct net_piece *piece = net_piece_new(NET_DATA, call->stream);
    piece->n = CW_MIN(left, most);
    piece->last = piece->n == left;
    call->out_at += piece->n;
    call->in_flight += data_cost(piece);
    if (piece->last) {
        piece->bytes = call->out;
        call->out = NULL;
    }
    net_send(transport->end, piece);
    return true;
}

static void send_trailers(grpc_call *call)
{
    transport_send(call->transport, NET_TRAILERS, call, call->trailers_status, call->trailers_text);
    batch_done(&call->trailers, true);
    end_with(call, 0, "");
    receive_drop(call);
    settle(call);
}

void call_pump(grpc_call *call)
{
    if (!call->begun || call->over)
        return;
    while (call->out)
        if (!send_part(call))
            return;
    batch_done(&call->send, true);
    if (call->half) {
        transport_send(call->transport, NET_HALF, call, 0, "");
        batch_done(&call->half, true);
    }
    if (call->trailers)
        send_trailers(call);
}

/* ---- what comes ---- */

void call_on_piece(grpc_call *call, struct net_piece *piece)
{
    switch (piece->kind) {
    case NET_HEADERS:
        batch_done(&call->meta_in, true);
        call->meta_came = true;
        break;
    case NET_DATA:
        receive_piece(call, piece);
        break;
    case NET_HALF:
        call->read_end = true;
        receive_try(call);
        break;
    case NET_WINDOW:
        call->in_flight -= piece->n;
        call_pump(call);
        break;
    case NET_TRAILERS:
        end_with(call, piece->status, piece->text);
        settle(call);
        break;
    case NET_RST:
        call_fail(call, piece->status, piece->text);
        break;
    default: /* others are no call's */
        break;
    }
}

/* ---- operations ---- */

static void start_send(grpc_call *call, struct batch *batch, const grpc_byte_buffer *buffer)
{
    size_t n = buffer->data.raw.slice_buffer.length;
    call->send = batch;
    if (call->over)
        return; /* settled below */
    if (n > call->settings->send_max) {
        cw_autofree char *text = cw_mem_printf("Sent message larger than max (%zu vs. %zu)", n,
                                               call->settings->send_max);
        call_give_up(call, GRPC_STATUS_RESOURCE_EXHAUSTED, text);
        return;
    }
    call->out = bytes_of(buffer);
    call->out_at = 0;
    net_counter_add(call->sends, n);
}

static void start_trailers(grpc_call *call, struct batch *batch, const grpc_op *op)
{
    call->trailers = batch;
    call->trailers_status = (int)op->data.send_status_from_server.status;
    call->trailers_text = grpc_slice_to_c_string(*op->data.send_status_from_server.status_details);
}

/* Of the metadata only one value is sent: that of "authorization", which is all that there is. */
static void start_headers(grpc_call *call, struct batch *batch, const grpc_op *op)
{
    call->meta_out = batch;
    if (!call->server && op->data.send_initial_metadata.count > 0)
        call->shown = grpc_slice_to_c_string(op->data.send_initial_metadata.metadata[0].value);
    if (!call->server || call->over)
        return;
    transport_send(call->transport, NET_HEADERS, call, 0, "");
    batch_done(&call->meta_out, true);
}

static void start_op(grpc_call *call, struct batch *batch, const grpc_op *op)
{
    switch (op->op) {
    case GRPC_OP_SEND_INITIAL_METADATA:
        start_headers(call, batch, op);
        break;
    case GRPC_OP_SEND_MESSAGE:
        start_send(call, batch, op->data.send_message.send_message);
        break;
    case GRPC_OP_SEND_CLOSE_FROM_CLIENT:
        call->half = batch;
        break;
    case GRPC_OP_SEND_STATUS_FROM_SERVER:
        start_trailers(call, batch, op);
        break;
    case GRPC_OP_RECV_INITIAL_METADATA:
        call->meta_in = batch;
        if (call->meta_came)
            batch_done(&call->meta_in, true);
        break;
    case GRPC_OP_RECV_MESSAGE:
        call->recv = batch;
        call->recv_to = op->data.recv_message.recv_message;
        break;
    case GRPC_OP_RECV_STATUS_ON_CLIENT:
        call->status = batch;
        call->status_to = op->data.recv_status_on_client.status;
        call->details_to = op->data.recv_status_on_client.status_details;
        break;
    case GRPC_OP_RECV_CLOSE_ON_SERVER:
        call->status = batch;
        call->cancelled_to = op->data.recv_close_on_server.cancelled;
        break;
    }
}

grpc_call_error grpc_call_start_batch(grpc_call *call, const grpc_op *ops, size_t nops, void *tag,
                                      void *reserved)
{
    (void)reserved;
    struct batch *batch = CW_NEW(struct batch), *guard = batch;
    *batch = (struct batch){.queue = call->queue, .tag = tag, .left = nops + 1, .ok = true};
    queue_begin(call->queue);
    for (size_t i = 0; i < nops; i++)
        start_op(call, batch, &ops[i]);
    if (!call->over && !call->server && call->meta_out)
        channel_want(call->channel, call);
    if (call->over)
        settle(call);
    call_pump(call);
    receive_try(call);
    batch_done(&guard, true);
    return GRPC_CALL_OK;
}
