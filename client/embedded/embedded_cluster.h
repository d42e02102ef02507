/* SPDX-License-Identifier: Apache-2.0 */
/* "local:": a private dispatcher and workers as child processes on unix sockets in a directory
 * of their own. They end when this process does, however it dies: their standard input closes
 * with it. */
#ifndef CW_CLIENT_EMBEDDED_CLUSTER_H
#define CW_CLIENT_EMBEDDED_CLUSTER_H

#include "base/err.h"

struct cachew_connect_options;
struct cw_local;
/* UNAVAILABLE at the deadline (cw_clock_ms). */
int cw_local_start(const struct cachew_connect_options *options, int64_t deadline_ms,
                   struct cw_local **ret_local, struct cw_err *err);
const char *cw_local_address(const struct cw_local *local);
/* Starts again what has died. Loop thread, now and then. */
void cw_local_watch(struct cw_local *local);
/* Ends the children, removes the directory. Accepts NULL. */
void cw_local_stop(struct cw_local *local);

#endif
