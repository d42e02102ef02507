/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says that it has, taken in as many iterations of the loop as it needs (struct cw_ack).
 * What comes on its stream behind the message waits meanwhile. Loop thread. */
#ifndef CW_DISPATCHER_SESSION_ACK_TURNS_H
#define CW_DISPATCHER_SESSION_ACK_TURNS_H

#include "dispatcher/job/job.h"

/* Called when all was taken (rc 0), or the rest is left out for an error. It may fail the client. */
typedef void cw_ack_turns_fn(struct cw_client *client, int rc, const struct cw_err *err);

/* Begins to take `ack`, which is copied; the messages that it names stay as they are until `done` was
 * called, which this may do before it returns, or until the client is freed. Returns whether it is
 * done. Of a client that fails meanwhile nothing more is taken, and `done` is not called. */
bool cw_ack_turns_begin(struct cw_client *client, const struct cw_ack *ack, cw_ack_turns_fn *done);
/* The client is freed. */
void cw_ack_turns_drop(struct cw_client *client);

#endif
