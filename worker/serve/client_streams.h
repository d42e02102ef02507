/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of clients, which fetch outputs. Loop thread. */
#ifndef CW_WORKER_SERVE_CLIENT_STREAMS_H
#define CW_WORKER_SERVE_CLIENT_STREAMS_H

#include "worker/model/state.h"

/* Adds the RPC methods of a worker to its server. */
void cw_wclients_add_methods(struct cw_worker_state *w);
/* Gives a job that is new the clients that wait for it. */
void cw_wclients_bind(struct cw_wjob *job);
/* Takes the clients from a job that is removed: they stay connected, and wait for it to come
 * again. */
void cw_wclients_unbind(struct cw_wjob *job);
/* Sends outputs as far as the client has credit and its stream accepts them. */
void cw_wclient_pump(struct cw_wclient *client);
void cw_wclients_pump_all(struct cw_worker_state *w);
/* Called when the dispatcher reports that clients have received the items [lo, hi) of the epoch. */
void cw_wclients_received(struct cw_wjob *job, uint64_t epoch, const struct cw_set *items);
/* Ends all streams. */
void cw_wclients_close_all(struct cw_worker_state *w);

#endif
