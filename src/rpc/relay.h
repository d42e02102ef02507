/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through another process. gRPC's threads do not survive a fork, and gRPC cannot be started
 * again in the child. So a child of a process that has used gRPC starts the program `cachew-relay`,
 * which opens the channels, calls and streams on the child's behalf. Clients only. All functions
 * are for the loop thread. */
#ifndef CW_RPC_RELAY_H
#define CW_RPC_RELAY_H

#include "rpc/rpc_int.h"

struct cw_relay;
struct cw_relay *cw_relay_new(struct cw_loop *loop) CW_MUST_CHECK;
void cw_relay_free(struct cw_relay *relay);
/* Channels and streams have numbers, which are never used again. */
uint64_t cw_relay_channel(struct cw_relay *relay, const char *address, enum cw_role role);
/* Has channels that are made from now on speak TLS, as cw_rpc_set_tls does. */
void cw_relay_tls(struct cw_relay *relay, const struct cw_tls_options *options);
/* Sets the token of a channel, as cw_channel_set_token does. */
void cw_relay_token(struct cw_relay *relay, uint64_t channel, const char *text, const char *file);
void cw_relay_channel_close(struct cw_relay *relay, uint64_t channel);
void cw_relay_unary(struct cw_relay *relay, uint64_t channel, const char *method,
                    struct cw_buf *request, int64_t timeout_ms, cw_unary_fn *fn, void *arg);
uint64_t cw_relay_stream(struct cw_relay *relay, uint64_t channel, const char *method,
                         const struct cw_stream_cb *cb, void *arg);
void cw_relay_send(struct cw_relay *relay, uint64_t stream, struct cw_buf *const *bufs, size_t n);
void cw_relay_pause(struct cw_relay *relay, uint64_t stream, bool paused);
void cw_relay_finish(struct cw_relay *relay, uint64_t stream, int code, const char *msg);
void cw_relay_stream_free(struct cw_relay *relay, uint64_t stream);

#endif
