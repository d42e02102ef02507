/* SPDX-License-Identifier: Apache-2.0 */
/* What comes on a call: parts of messages, whole messages that nobody has asked for yet, and the
 * bytes that the peer may send again because they were taken. */
#include "simulation/rpc/grpc_int.h"

/* The peer hears of bytes given back when they are worth a piece. */
static void give_back(grpc_call *call, size_t n)
{
    struct transport *transport = call->transport;
    call->give_back += n;
    if (!transport || !transport->end || call->give_back < transport->window / 4)
        return;
    struct net_piece *piece = net_piece_new(NET_WINDOW, call->stream);
    piece->n = call->give_back;
    call->give_back = 0;
    net_send(transport->end, piece);
}

static void take_one(grpc_call *call)
{
    struct message *message = call->unread;
    call->unread = message->next;
    if (!call->unread)
        call->unread_tail = &call->unread;
    if (call->transport && call->transport->end)
        net_unread(call->transport->end, -1);
    give_back(call, message->owed);
    net_bytes_unref(message->bytes);
    cw_mem_free(message);
}

/* Who waits for a message gets it all, however large: its parts are given back as they come. */
static void give_back_part(grpc_call *call)
{
    size_t owed = call->part_owed;
    call->part_owed = 0;
    give_back(call, owed);
}

void receive_try(grpc_call *call)
{
    if (!call->recv)
        return;
    if (call->unread) {
        *call->recv_to = buffer_of(call->unread->bytes);
        take_one(call);
        batch_done(&call->recv, true);
        call_maybe_end(call);
    } else if (call->read_end) {
        *call->recv_to = NULL;
        batch_done(&call->recv, true);
    } else if (call->part_owed > 0) {
        give_back_part(call);
    }
}

static void too_large(grpc_call *call, size_t n)
{
    char *text = cw_mem_printf("Received message larger than max (%zu vs. %zu)", n,
                               call->settings->receive_max);
    call_give_up(call, GRPC_STATUS_RESOURCE_EXHAUSTED, text);
    cw_mem_free(text);
}

void receive_piece(grpc_call *call, struct net_piece *piece)
{
    call->part_owed += data_cost(piece);
    if (!piece->last) {
        if (call->recv && !call->unread)
            give_back_part(call);
        return;
    }
    if (piece->bytes->n > call->settings->receive_max) {
        too_large(call, piece->bytes->n);
        return;
    }
    struct message *message = CW_NEW(struct message);
    message->bytes = net_bytes_ref(piece->bytes);
    message->owed = call->part_owed;
    call->part_owed = 0;
    net_unread(call->transport->end, 1);
    *call->unread_tail = message;
    call->unread_tail = &message->next;
    receive_try(call);
}

void receive_drop(grpc_call *call)
{
    while (call->unread)
        take_one(call);
    call->part_owed = 0;
}
