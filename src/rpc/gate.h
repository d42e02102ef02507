/* SPDX-License-Identifier: Apache-2.0 */
/* The token in the metadata of a call: how a channel shows it, and how a server's gate sees it. The
 * key is "authorization", the value "Bearer TOKEN". A channel shows its token only to a server that
 * has asked for one, by ending a call with UNAUTHENTICATED. */
#ifndef CW_RPC_GATE_H
#define CW_RPC_GATE_H

#include "rpc/rpc_int.h"

/* ---- gate_client.c ---- */
struct cw_channel_token {
    char *text, *file; /* as cw_channel_set_token got them */
    bool asked;        /* the server has asked: calls from now on show it */
    bool news;         /* a stream ended because it did not show it */
};
/* What one call shows; it must live as long as the call. */
struct cw_shown_token {
    grpc_metadata entry;
    size_t n; /* 1: the call shows a token */
};
void cw_shown_token_init(struct cw_shown_token *shown, struct cw_channel *channel);
void cw_shown_token_fini(struct cw_shown_token *shown);
/* Notes how a call ended. Returns true if the server has asked for a token that the call did not
 * show, the first one or a new one, so that another attempt may succeed. */
bool cw_channel_note_asked(struct cw_channel *channel, const struct cw_shown_token *shown,
                           grpc_status_code status);
void cw_channel_token_fini(struct cw_channel_token *token);
/* Says in msg why the token's file cannot be used, if that is so. */
void cw_channel_token_explain(const struct cw_channel *channel, char *msg, size_t cap);

/* ---- gate_server.c ---- */
/* Asks the server's gate about a call that has arrived. Returns true, and the caller, if it may go
 * on; otherwise it has taken the call: it is refused, or waits. */
bool cw_gate_passes(struct cw_server *server, grpc_call *call, const char *method,
                    const grpc_metadata_array *md, void **ret_caller);
/* Asks it again about the calls that wait and show this token. Those that may go on now are given to
 * `serve`, which takes call and caller. */
typedef void cw_gate_serve_fn(struct cw_server *server, grpc_call *call, const char *method,
                              void *caller);
void cw_gate_ask_again(struct cw_server *server, const char *token, cw_gate_serve_fn *serve);
/* The server stops: calls that wait are refused. */
void cw_gate_refuse_waiting(struct cw_server *server);

#endif
