/* SPDX-License-Identifier: Apache-2.0 */
/* The private cluster of the address "local:": a dispatcher and workers as child processes, on unix
 * sockets in a directory of their own. They end when this process does, however it ends: their
 * standard input closes with it. */
#ifndef CW_CLIENT_EMBEDDED_EMBEDDED_CLUSTER_H
#define CW_CLIENT_EMBEDDED_EMBEDDED_CLUSTER_H

#include "base/err.h"

struct cachew_connect_options;
struct cw_embedded_cluster;
/* Starts all children, and waits until they are ready. UNAVAILABLE at the deadline
 * (cw_clock_ms). */
int cw_embedded_cluster_start(const struct cachew_connect_options *options, int64_t deadline_ms,
                              struct cw_embedded_cluster **ret_cluster, struct cw_err *err);
const char *cw_embedded_cluster_address(const struct cw_embedded_cluster *cluster);
/* Restarts children that have died. Loop thread; called at intervals. */
void cw_embedded_cluster_watch(struct cw_embedded_cluster *cluster);
/* Ends the children, removes the directory. Accepts NULL. */
void cw_embedded_cluster_stop(struct cw_embedded_cluster *cluster);

#endif
