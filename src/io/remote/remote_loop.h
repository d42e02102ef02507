/* SPDX-License-Identifier: Apache-2.0 */
/* The loop thread of this module, and the client on it. */
#ifndef CW_IO_REMOTE_REMOTE_LOOP_H
#define CW_IO_REMOTE_REMOTE_LOOP_H

#include "http/http_client.h"
#include "loop/loop.h"

/* The loop; the first call starts its thread. Any thread. */
struct cw_loop *cw_remote_loop(void);
/* The client. On the loop thread. */
struct cw_http_client *cw_remote_client(void);
/* How long a fetch waits without a byte before it gives up. */
int64_t cw_remote_patience_ms(void);
/* Ends the thread, if it was started. */
void cw_remote_loop_stop(void);

#endif
