/* SPDX-License-Identifier: Apache-2.0 */
/* Draining: leaving without loss. Loop thread. */
#ifndef CW_WORKER_SESSION_DRAIN_H
#define CW_WORKER_SESSION_DRAIN_H

#include "worker/model/state.h"

/* Drains the worker, then calls fn once: takes no new leases, hands back what has not begun, and
 * serves the rest. fn NULL: the function that was set before is called. */
void cw_drain_start(struct cw_worker_state *w, cw_loop_fn *fn, void *arg);
/* Drains a worker whose outputs nobody wants: drops all items, and waits only for cache writes. */
void cw_drain_abandon(struct cw_worker_state *w, cw_loop_fn *fn, void *arg);
/* Notifies the dispatcher of the drain, and hands back what has not begun. Called again on each new
 * stream. */
void cw_drain_announce(struct cw_worker_state *w);

#endif
