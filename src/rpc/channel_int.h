/* SPDX-License-Identifier: Apache-2.0 */
/* The channel object, shared by channel.c (opening, calls) and channel_ref.c (references). */
#ifndef CW_RPC_CHANNEL_INT_H
#define CW_RPC_CHANNEL_INT_H

#include "rpc/gate.h"
#include "auth/roles.h"
#include "rpc/rpc_int.h"

struct unary;
struct cw_channel {
    struct cw_rpc *rpc;
    grpc_channel *channel; /* NULL if the channel goes through a relay */
    char *address;
    struct cw_err bad; /* set when the address is malformed; every call then ends with it */
    enum cw_role role; /* of the peer, with TLS */
    /* With TLS: which certificate `channel` was made with (tls.h); 0: it speaks no TLS. */
    uint64_t tls_generation;
    size_t refs; /* one reference of the owner, and one of each call and stream */
    struct cw_channel_token token;
    uint64_t relayed;      /* the relay's number of the channel; 0: gRPC is used directly */
    struct unary *unaries; /* list of the open unary calls */
};

#endif
