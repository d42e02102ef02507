/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving in good order. Loop thread. */
#ifndef CW_WORKER_SESSION_DRAIN_H
#define CW_WORKER_SESSION_DRAIN_H

#include "worker/model/state.h"

/* Takes no new leases, hands back what is not begun, serves the rest, then calls fn once. fn NULL:
 * the function that was set before. */
void cw_drain_start(struct cw_worker_state *w, cw_loop_fn *fn, void *arg);
/* The same for a worker whose outputs nobody wants: drops all items, and waits only for cache
 * writes. */
void cw_drain_abandon(struct cw_worker_state *w, cw_loop_fn *fn, void *arg);
/* Tells the dispatcher of the drain, and hands back what is not begun. Called again on each new
 * stream. */
void cw_drain_announce(struct cw_worker_state *w);

#endif
